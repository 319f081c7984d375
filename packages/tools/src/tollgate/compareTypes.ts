/**
 * Compares the types of `tollgate` with those of the packages inside, in both directions: what the packages return must fit
 * the plain type, and what the plain type accepts must fit the packages.
 */
import { rmSync } from "node:fs"
import { join, resolve } from "node:path"
import ts from "typescript5"
import { findTypeErrors } from "../findTypeErrors.ts"
import { onePackage } from "../publishedPackages.ts"
import { createProgram, generateTypes, writeFiles } from "./generateTypes.ts"

/** Two types that must fit each other. */
interface Pair {
  readonly label: string
  readonly ours: string
  readonly plain: string
}

/** Type arguments for parameters that have no default. */
const listArguments = (target: ts.Symbol): string => {
  const parameters = (target.declarations ?? []).flatMap((node) =>
    ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) ? (node.typeParameters ?? []) : []
  )
  const required = parameters.filter((parameter) => parameter.default === undefined)
  return required.length === 0 ? "" : `<${required.map(() => "{ readonly id: string }").join(", ")}>`
}

/** A store may also be a layer of Effect. */
const different: Readonly<Record<string, ReadonlyArray<Pair>>> = {
  TollgateOptions: [
    {
      label: "TollgateOptions",
      ours: 'Omit<Ours.TollgateOptions, "store">',
      plain: 'Omit<Plain.TollgateOptions, "store">'
    }
  ],
  createTollgate: [
    {
      label: "the result of createTollgate",
      ours: "Awaited<ReturnType<typeof Ours.createTollgate>>",
      plain: "Awaited<ReturnType<typeof Plain.createTollgate>>"
    }
  ]
}

/** What of a type of ours the plain one has: an error has methods of Effect, and a store a layer. */
const common = (ours: string, plain: string) => `Pick<${ours}, keyof ${plain} & keyof ${ours}>`

const listPairs = (checker: ts.TypeChecker, symbol: ts.Symbol, target: ts.Symbol): ReadonlyArray<Pair> => {
  const { name } = symbol
  if (name in different) return different[name] ?? []
  const list = listArguments(target)
  const [ours, plain] = [`Ours.${name}${list}`, `Plain.${name}${list}`]
  const isError = checker.getDeclaredTypeOfSymbol(target).getProperty("stack") !== undefined
  const isClass = (target.flags & ts.SymbolFlags.Class) !== 0
  const isTypeOnly = (symbol.declarations ?? []).some(
    (node) => ts.isExportSpecifier(node) && ts.isTypeOnlyExportDeclaration(node)
  )
  const isFunction = checker.getTypeOfSymbol(target).getCallSignatures().length > 0
  const value = `typeof ${ours}`
  return [
    ...(isError ? [{ label: name, ours: common(ours, plain), plain }] : []),
    ...(target.flags & ts.SymbolFlags.Type && !isClass ? [{ label: name, ours, plain }] : []),
    ...(target.flags & ts.SymbolFlags.Value && !isTypeOnly && !isError
      ? [
          {
            label: `the value ${name}`,
            ours: isFunction ? value : common(value, `typeof ${plain}`),
            plain: `typeof ${plain}`
          }
        ]
      : [])
  ]
}

const parenthesize = (type: string): string => `(${type})`

const printComparison = (checker: ts.TypeChecker, module: ts.Symbol, source: string, plain: string): string => {
  const pairs = checker.getExportsOfModule(module).flatMap((symbol) => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
    return listPairs(checker, symbol, target)
  })
  return [
    `import type * as Ours from ${JSON.stringify(source)}`,
    `import type * as Plain from ${JSON.stringify(plain)}`,
    ...pairs.flatMap(({ label, ours, plain }, index) => [
      `/** ${label} */`,
      `export const ours${index} = (value: ${ours}): ${plain} => value`,
      `export const plain${index} = (value: ${plain}): ${ours} => value`,
      // An optional property that only one of them has fits in both directions.
      `export const oursKey${index} = (key: keyof ${parenthesize(ours)}): keyof ${parenthesize(plain)} => key`,
      `export const plainKey${index} = (key: keyof ${parenthesize(plain)}): keyof ${parenthesize(ours)} => key`
    ])
  ].join("\n")
}

/** The plain types and the files that compare them, by path. */
export const makeComparison = (): ReadonlyMap<string, string> => {
  const program = createProgram()
  const checker = program.getTypeChecker()
  const files = new Map(generateTypes(program, true))
  for (const source of onePackage.sources) {
    const file = program.getSourceFile(resolve(source))
    const module = file && checker.getSymbolAtLocation(file)
    if (module === undefined) throw new Error(`${source} is not a module`)
    const name = source.slice(join(onePackage.folder, "src/").length).replace(/\.ts$/, "")
    const up = name.includes("/") ? "../" : "./"
    files.set(`${name}.compare.ts`, printComparison(checker, module, resolve(source), `${up}${name}.js`))
  }
  return files
}

/** The differences, as errors of the compiler. */
export const compareTypes = (files: ReadonlyMap<string, string>): ReadonlyArray<string> => {
  const folder = resolve("node_modules/.cache/tollgate-types")
  rmSync(folder, { recursive: true, force: true })
  const compilerOptions = {
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    target: "es2023",
    types: ["node"]
  }
  const include = ["**/*.compare.ts"]
  writeFiles(folder, new Map([...files, ["tsconfig.json", JSON.stringify({ compilerOptions, include })]]))
  return findTypeErrors(folder, "typescript", "nodenext")
}

/** Mistakes that a comparison must find: another type, a property too few, an optional one too few, and one too many. */
const mistakes: Readonly<Record<string, readonly [right: RegExp, wrong: string]>> = {
  ConsumerJson: [/(interface ConsumerJson \{[^}]*?readonly name: )string/, "$1number"],
  SubscriptionJson: [/(interface SubscriptionJson \{[^}]*?)readonly id: string/, "$1"],
  ApiKeyJson: [/(interface ApiKeyJson \{[^}]*?)readonly disabled\?: boolean/, "$1"],
  WebhookJson: [/(interface WebhookJson \{)/, "$1 readonly isWrong: boolean"]
}

/** The types with a mistake that a comparison does not find. */
export const findMissedMistakes = (files: ReadonlyMap<string, string>): ReadonlyArray<string> => {
  const changed = new Map(files)
  for (const [path, text] of files) {
    if (!path.endsWith(".d.ts")) continue
    const wrongText = Object.values(mistakes).reduce((text, [right, wrong]) => text.replace(right, wrong), text)
    changed.set(path, wrongText)
  }
  const found = compareTypes(changed).map((error) => {
    const [, path = "", line = ""] = /^(\S+)\((\d+),/.exec(error) ?? []
    const before = changed.get(path)?.split("\n").slice(0, Number(line)) ?? []
    return before.findLast((text) => text.startsWith("/** "))?.slice("/** ".length, -" */".length)
  })
  return Object.keys(mistakes).filter((name) => !found.includes(name))
}

if (import.meta.main) console.log(compareTypes(makeComparison()).join("\n"))
