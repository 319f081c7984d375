/** Writes a name that a type refers to: of the packages inside, of Effect, or of a package of others. */
import ts from "typescript5"
import type { Context } from "./Context.ts"

/** Imports a name of a package of others, as the declaration that uses it does. */
const writeForeignName = ({ checker, output }: Context, name: ts.Node): string => {
  const first = name.getText().split(".")[0] ?? ""
  if (ts.isImportTypeNode(name.parent)) {
    output.import(name.parent.argument.getText().replaceAll(/['"]/g, ""), first)
    return name.getText()
  }
  const identifier = ts.isQualifiedName(name) ? name.left : name
  const declaration = checker.getSymbolAtLocation(identifier)?.declarations?.[0]
  const statement = declaration && ts.findAncestor(declaration, ts.isImportDeclaration)
  // Without an import it is global.
  if (declaration === undefined || statement === undefined) return name.getText()
  if (!ts.isImportSpecifier(declaration) || declaration.propertyName !== undefined)
    throw new Error(`Import ${first} by its name in ${name.getSourceFile().fileName}`)
  output.import((statement.moduleSpecifier as ts.StringLiteral).text, first)
  return name.getText()
}

/** The name in the file that is written; undefined if only a program with Effect can use it. */
const writeName = (context: Context, name: ts.Node, symbol: ts.Symbol | undefined): string | undefined => {
  const [declaration] = symbol?.declarations ?? []
  if (symbol === undefined || declaration === undefined) return name.getText()
  if (symbol.flags & ts.SymbolFlags.TypeParameter) return name.getText()
  const { origins } = context
  if (!origins.isOurs(declaration) && !origins.isEffect(declaration)) return writeForeignName(context, name)
  return origins.isService(symbol, declaration) ? undefined : context.refer(symbol)
}

export const writeReference = (
  context: Context,
  node: ts.TypeNode,
  name: ts.Node,
  typeArguments: ReadonlyArray<ts.TypeNode> | undefined
): string | undefined => {
  const symbol = context.origins.resolve(name)
  const written = writeName(context, name, symbol)
  if (written === undefined) return context.print(context.checker.getTypeFromTypeNode(node), node)
  if (typeArguments === undefined) return written
  const texts = typeArguments.map((argument) => context.render(argument))
  // A promise of what needs Effect is of no use, and neither is a list of it. Only a module says what its services are.
  const [declaration] = symbol?.declarations ?? []
  if (texts.includes(undefined) && declaration !== undefined && !context.origins.isOurs(declaration)) return undefined
  return `${written}<${texts.map((text) => text ?? "any").join(", ")}>`
}
