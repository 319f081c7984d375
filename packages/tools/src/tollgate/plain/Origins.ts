/** Where a declaration comes from: the packages inside `tollgate`, Effect, or a package of others. */
import { relative, sep } from "node:path"
import ts from "typescript5"

export class Origins {
  readonly #checker: ts.TypeChecker
  /** The folder of the packages. */
  readonly #packages: string

  constructor(checker: ts.TypeChecker, packages: string) {
    this.#checker = checker
    this.#packages = packages
  }

  isOurs(node: ts.Node): boolean {
    return node.getSourceFile().fileName.startsWith(this.#packages)
  }

  isEffect(node: ts.Node): boolean {
    return node.getSourceFile().fileName.includes("/node_modules/effect/")
  }

  /** The package that declares it, which is the file in which it is written. */
  packageOf(node: ts.Node): string {
    if (this.isEffect(node)) return "json"
    const path = relative(this.#packages, node.getSourceFile().fileName)
    // Only an application with Hono has its types.
    return path.endsWith("/hono.d.ts") ? "hono" : (path.split(sep)[0] ?? "")
  }

  /** A schema and its type have one name: only the type is plain. */
  declarationsOf(symbol: ts.Symbol): ReadonlyArray<ts.Declaration> {
    const all = (symbol.declarations ?? []).filter((node) => !ts.isModuleBlock(node.parent))
    const types = all.filter((node) => ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node))
    return types.length === 0 ? all : types
  }

  /** What a name stands for, also if it is imported. */
  resolve(node: ts.Node): ts.Symbol | undefined {
    const symbol = this.#checker.getSymbolAtLocation(node)
    return symbol !== undefined && symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol
  }

  mentionsEffect(node: ts.Node): boolean {
    if (ts.isIdentifier(node)) {
      const [declaration] = this.resolve(node)?.declarations ?? []
      if (declaration !== undefined && this.isEffect(declaration)) return true
    }
    return ts.forEachChild(node, (child) => this.mentionsEffect(child)) === true
  }

  /** Whether it is a class that stands for a service of Effect. */
  isService(symbol: ts.Symbol, node: ts.Declaration): boolean {
    if (!ts.isClassDeclaration(node)) return false
    const type = this.#checker.getTypeOfSymbolAtLocation(symbol, node)
    return type.getProperty("Service") !== undefined || type.getProperty("~effect/Context/Service") !== undefined
  }
}
