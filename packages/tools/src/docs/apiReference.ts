/**
 * Generates docs/reference/api: a page for each entry point of the published packages, from the types and comments of
 * the sources.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import ts from "typescript5"
import { toAnchor } from "../../../../docs/.vitepress/toAnchor.ts"
import { onePackage, publishedPackages } from "../publishedPackages.ts"
import { type DocumentedName, generateOnePackagePage } from "./onePackagePage.ts"
import { readFileComment } from "./readFileComment.ts"
import { renderDeclaration } from "./renderDeclaration.ts"

const root = join(import.meta.dirname, "../../../..")

/** The other packages of this repository use the others, which may change in any release. */
const isPublic = (specifier: string): boolean => !specifier.endsWith("/internal") && specifier !== "@tollgate/protect"

const entryPoints = publishedPackages.flatMap(({ folder, manifest, sources, specifiers }) =>
  specifiers.flatMap((specifier, index) =>
    isPublic(specifier) ? [{ specifier, source: join(root, sources[index] ?? ""), folder, manifest }] : []
  )
)

const toPageName = (specifier: string): string => `${specifier.replace("@tollgate/", "").replace("/", "-")}.md`

const createProgram = (): ts.Program => {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const files = [...entryPoints.map(({ source }) => source), ...onePackage.sources.map((source) => join(root, source))]
  return ts.createProgram(files, { ...options, composite: false, noEmit: true, allowImportingTsExtensions: true })
}

/** The sections of a page, in this order. */
const sections = ["Functions and values", "Classes", "Interfaces", "Types"] as const

/** A name that an entry point exports. */
interface ExportedName {
  readonly name: string
  readonly symbol: ts.Symbol
  /** Whether only its type is exported. */
  readonly isType: boolean
}

const getSection = ({ symbol, isType }: ExportedName): (typeof sections)[number] => {
  const values = ts.SymbolFlags.Function | ts.SymbolFlags.Variable | ts.SymbolFlags.Module
  if (!isType && symbol.flags & values) return "Functions and values"
  if (!isType && symbol.flags & ts.SymbolFlags.Class) return "Classes"
  return symbol.flags & ts.SymbolFlags.Interface ? "Interfaces" : "Types"
}

const listExports = (checker: ts.TypeChecker, file: ts.SourceFile): ReadonlyArray<ExportedName> => {
  const module = checker.getSymbolAtLocation(file)
  if (module === undefined) throw new Error(`${file.fileName} is not a module`)
  return checker
    .getExportsOfModule(module)
    .map((symbol) => {
      const specifier = symbol.declarations?.find(ts.isExportSpecifier)
      return {
        name: symbol.name,
        symbol: symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
        isType: specifier !== undefined && ts.isTypeOnlyExportDeclaration(specifier)
      }
    })
    .sort((a, b) => a.name.localeCompare(b.name, "en"))
}

/** The code of an error that `defineError` declares. */
const getErrorCode = ({ symbol }: ExportedName): string | undefined =>
  /defineError<.*?code: "([a-z-]+)"/s.exec(symbol.valueDeclaration?.getText() ?? "")?.[1]

const readIntroduction = (source: ts.SourceFile): string =>
  readFileComment(source)
    .text.replace(/^`@tollgate\/[^:]+: /, "")
    .replace(/^./, (first) => first.toUpperCase())

/** Lists what a source of `tollgate` exports, with the page of the package that it comes from. */
const makeLister = (program: ts.Program) => {
  const checker = program.getTypeChecker()
  const list = (source: string): ReadonlyArray<ExportedName> => {
    const file = program.getSourceFile(source)
    if (file === undefined) throw new Error(`${source} does not exist`)
    return listExports(checker, file)
  }
  const pages = entryPoints.map(({ specifier, source }) => ({
    specifier,
    symbols: new Set(list(source).map(({ symbol }) => symbol))
  }))
  return (source: string): ReadonlyArray<DocumentedName> => {
    const text = readFileSync(source, "utf8")
    return list(join(root, source)).map((exported) => {
      const having = pages.filter(({ symbols }) => symbols.has(exported.symbol))
      const page = having.find(({ specifier }) => text.includes(`"${specifier}"`)) ?? having[0]
      if (page === undefined) throw new Error(`No page has ${exported.name} of ${source}`)
      const code = getErrorCode(exported)
      const link =
        code === undefined ? `${toPageName(page.specifier)}#${toAnchor(exported.name)}` : `../errors.md#${code}`
      return { name: exported.name, link }
    })
  }
}

/** The pages, by file name. */
export const generateApiReference = (): ReadonlyMap<string, string> => {
  const program = createProgram()
  const checker = program.getTypeChecker()
  const pages = new Map<string, string>()
  for (const { specifier, source, manifest } of entryPoints) {
    const file = program.getSourceFile(source)
    if (file === undefined) throw new Error(`${source} does not exist`)
    const names = listExports(checker, file)
    const parts = [`# ${specifier}`, readIntroduction(file) || manifest.description]
    for (const section of sections) {
      const members = names.filter((name) => getErrorCode(name) === undefined && getSection(name) === section)
      if (members.length > 0) parts.push(`## ${section}`)
      for (const { name, symbol, isType } of members) {
        parts.push(`### ${name}`, renderDeclaration(checker, name, symbol, isType))
      }
    }
    const errors = names.flatMap((name) => {
      const code = getErrorCode(name)
      return code === undefined ? [] : [`- [${name.name}](../errors.md#${code})`]
    })
    if (errors.length > 0) parts.push("## Errors", errors.join("\n"))
    pages.set(toPageName(specifier), parts.filter((part) => part !== "").join("\n\n"))
  }
  pages.set("tollgate.md", generateOnePackagePage(makeLister(program)))
  pages.set("README.md", renderIndex())
  return pages
}

const renderIndex = (): string => {
  const rows = entryPoints.map(({ specifier, source, manifest }) => {
    const file = ts.createSourceFile(source, readFileSync(source, "utf8"), ts.ScriptTarget.Latest)
    const description = readIntroduction(file).split("\n\n")[0]?.replaceAll("\n", " ") || manifest.description
    return `| [\`${specifier}\`](${toPageName(specifier)}) | ${description} |`
  })
  return [
    "# TypeScript API",
    "Every name that an application may import, with its types and comments. The pages are generated from the sources. Applications without Effect import [`tollgate`](tollgate.md), whose subpaths have the names of the packages below.",
    ["| Import | For |", "| --- | --- |", ...rows].join("\n"),
    "`@tollgate/core/internal`, `@tollgate/store/internal` and `@tollgate/protect` are for the other packages of Tollgate. They may change in any release."
  ].join("\n\n")
}
