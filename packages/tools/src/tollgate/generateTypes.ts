/**
 * Generates the types of `tollgate` from those that `tsc` has made for the packages inside: a file for each entry point, and
 * one for the declarations of each package.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import ts from "typescript5"
import { onePackage } from "../publishedPackages.ts"
import { PlainTypes } from "./plain/PlainTypes.ts"

const root = join(import.meta.dirname, "../../../..")

export const createProgram = (): ts.Program => {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const files = onePackage.sources.map((source) => join(root, source))
  // Without the sources, so that every declaration has its type.
  return ts.createProgram(files, { ...options, composite: false, noEmit: true, customConditions: [] })
}

const isTypeOnly = (symbol: ts.Symbol, target: ts.Symbol): boolean =>
  (target.flags & ts.SymbolFlags.Value) === 0 ||
  (symbol.declarations ?? []).some((node) => ts.isExportSpecifier(node) && ts.isTypeOnlyExportDeclaration(node))

/** Indents each line by the braces around it. */
const indent = (text: string): string => {
  let depth = 0
  return text
    .split("\n")
    .map((line) => {
      const code = line.trim()
      if (/^\/?\*/.test(code)) return `${"  ".repeat(depth)}${code.startsWith("*") ? " " : ""}${code}`
      const count = (brace: string) => code.split(brace).length - 1
      const before = depth
      depth += count("{") - count("}")
      return `${"  ".repeat(code.startsWith("}") ? before - 1 : before)}${code}`
    })
    .join("\n")
}

/** The files by their path below the folder of the types. */
export const generateTypes = (program = createProgram(), isForComparison = false): ReadonlyMap<string, string> => {
  const checker = program.getTypeChecker()
  const types = new PlainTypes(checker, `${root}/packages/`, isForComparison)
  const files = new Map<string, string>()
  for (const source of onePackage.sources) {
    const file = program.getSourceFile(join(root, source))
    const module = file && checker.getSymbolAtLocation(file)
    if (module === undefined) throw new Error(`${source} is not a module`)
    const path = relative(join(onePackage.folder, "src"), source).replace(/\.ts$/, ".d.ts")
    const lines = checker.getExportsOfModule(module).map((symbol) => {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
      const written = types.write(target)
      if (written === undefined) throw new Error(`${symbol.name} of ${source} needs Effect`)
      const from = relative(dirname(path), `types/${written.file}.js`)
      const name = written.name === symbol.name ? symbol.name : `${written.name} as ${symbol.name}`
      return `export ${isTypeOnly(symbol, target) ? "type " : ""}{ ${name} } from "${from.startsWith(".") ? from : `./${from}`}"`
    })
    files.set(path, `${lines.join("\n")}\n`)
  }
  for (const [name, { imports, declarations }] of types.output.files) {
    const lines = [...imports].map(([module, clauses]) => {
      const named = [...clauses].filter((clause) => clause !== "").join(", ")
      return `import type {${named && ` ${named} `}} from "${module}"`
    })
    files.set(`types/${name}.d.ts`, indent(`${[...lines, ...declarations].join("\n")}\nexport {}\n`))
  }
  return files
}

/** Writes files by their path below a folder. */
export const writeFiles = (folder: string, files: ReadonlyMap<string, string>): void => {
  for (const [path, text] of files) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
}
