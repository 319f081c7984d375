/** Writes a declaration as a plain one. */
import ts from "typescript5"
import type { Context } from "./Context.ts"
import { printField } from "./compilerTypes.ts"
import { membersOfErrors, opaque } from "./exceptions.ts"
import { writeComment, writeMembers, writeSignature, writeStaticMethods, writeTypeParameters } from "./members.ts"
import { writeReference } from "./references.ts"

const declareInterface = (context: Context, node: ts.InterfaceDeclaration, name: string): string => {
  const bases = (node.heritageClauses ?? []).flatMap(({ types }) =>
    types.flatMap((type) => writeReference(context, type, type.expression, type.typeArguments) ?? [])
  )
  // A base that is replaced by its members has no name to extend.
  const named = bases.filter((base) => !base.startsWith("{"))
  const inherited = bases.filter((base) => base.startsWith("{")).map((base) => `${base.slice(1, -1).trim()}\n`)
  const heritage = named.length === 0 ? "" : ` extends ${named.join(", ")}`
  const seen = opaque[node.name.text]
  const own = node.members.filter((member) => seen?.includes(member.name?.getText() ?? "") !== false)
  const members = `${inherited.join("")}${writeMembers(context, own)}`
  return `${writeComment(node)}export interface ${name}${writeTypeParameters(context, node)}${heritage} {\n${members}}`
}

const declareType = (context: Context, node: ts.TypeAliasDeclaration, name: string): string => {
  const text = context.render(node.type) ?? "unknown"
  const isObject = context.objects.has(text) && node.typeParameters === undefined
  const head = isObject ? `interface ${name} ` : `type ${name}${writeTypeParameters(context, node)} = `
  return `${writeComment(node)}export ${head}${text}`
}

/** What its constructor takes. The constructor of a schema has one list, whose second item is for Effect. */
const writeConstructor = (context: Context, symbol: ts.Symbol, node: ts.ClassDeclaration): string => {
  const { checker } = context
  const [construct] = checker.getTypeOfSymbolAtLocation(symbol, node).getConstructSignatures()
  const [parameter] = construct?.getParameters() ?? []
  if (parameter === undefined) return "constructor()"
  const type = checker.getTypeOfSymbolAtLocation(parameter, node)
  const [first = type] = checker.isTupleType(type) ? checker.getTypeArguments(type as ts.TypeReference) : []
  const text = context.print(first, node)
  if (text === undefined) return "constructor()"
  const isOptional = /(^undefined \| | \| undefined$)/.test(text)
  return `constructor(fields${isOptional ? "?" : ""}: ${text})`
}

/** An error of a schema: its fields, without what Effect adds. */
const declareError = (context: Context, symbol: ts.Symbol, node: ts.ClassDeclaration, name: string): string => {
  const fields = context.checker
    .getDeclaredTypeOfSymbol(symbol)
    .getProperties()
    .filter((field) => !membersOfErrors.has(field.name) && !/^(__@|~)/.test(field.name))
    .flatMap((field) => printField(context, field, node) ?? [])
  const members = [...fields, writeConstructor(context, symbol, node)].map((member) => `${member}\n`)
  return `${writeComment(node)}export declare class ${name} extends Error {\n${members.join("")}}`
}

const declareClass = (context: Context, symbol: ts.Symbol, node: ts.ClassDeclaration, name: string): string => {
  const { origins } = context
  if (origins.isService(symbol, node))
    return `${writeComment(node)}export declare const ${name}: {\n${writeStaticMethods(context, node)}}`
  const base = node.heritageClauses?.[0]?.types[0]?.expression
  if (base !== undefined && base.getText() !== "Error") return declareError(context, symbol, node, name)
  for (const { expression } of (node.heritageClauses ?? []).flatMap(({ types }) => types)) {
    const inherited = origins.resolve(expression)
    if (inherited !== undefined) context.refer(inherited)
  }
  const text = node.getText().replace(/^export declare (abstract )?class \w+/, `export declare $1class ${name}`)
  return `${writeComment(node)}${text}`
}

/** The type of a constant: of one that is an object, what can be used without Effect. */
export const writeTypeOfValue = (context: Context, { type }: ts.VariableDeclaration): string | undefined => {
  if (type === undefined || !ts.isTypeLiteralNode(type)) return type && context.render(type)
  const members = writeMembers(context, type.members, true)
  return members === "" ? undefined : `{\n${members}}`
}

/** A name may have several declarations, such as the overloads of a function. */
export const declare = (context: Context, symbol: ts.Symbol, name: string): string =>
  context.origins
    .declarationsOf(symbol)
    .flatMap((node) => {
      if (ts.isInterfaceDeclaration(node)) return declareInterface(context, node, name)
      if (ts.isTypeAliasDeclaration(node)) return declareType(context, node, name)
      if (ts.isClassDeclaration(node)) return declareClass(context, symbol, node, name)
      if (ts.isVariableDeclaration(node))
        return `${writeComment(node.parent.parent)}export declare const ${name}: ${writeTypeOfValue(context, node)}`
      if (ts.isFunctionDeclaration(node))
        return `${writeComment(node)}export declare function ${name}${writeSignature(context, node, ": ")}`
      return []
    })
    .join("\n")
