/** Prints a type as the compiler knows it, such as the type that a schema of Effect stands for. */
import ts from "typescript5"
import type { Context } from "./Context.ts"
import { plainOfEffect } from "./exceptions.ts"

/** Types that the compiler writes itself. */
const keywords =
  ts.TypeFlags.Any |
  ts.TypeFlags.Unknown |
  ts.TypeFlags.StringLike |
  ts.TypeFlags.NumberLike |
  ts.TypeFlags.BigIntLike |
  ts.TypeFlags.BooleanLiteral |
  ts.TypeFlags.ESSymbolLike |
  ts.TypeFlags.VoidLike |
  ts.TypeFlags.Null |
  ts.TypeFlags.Never |
  ts.TypeFlags.NonPrimitive |
  ts.TypeFlags.TypeParameter

const asText = ({ checker }: Context, type: ts.Type, at: ts.Node): string =>
  checker.typeToString(type, at, ts.TypeFormatFlags.NoTruncation)

/** The name of a type that has one, unless it is being declared. */
const printAlias = (context: Context, { aliasSymbol, aliasTypeArguments }: ts.Type, at: ts.Node) => {
  const declarations = aliasSymbol?.declarations ?? []
  if (aliasSymbol === undefined) return undefined
  if (!declarations.some((node) => context.origins.isOurs(node) || plainOfEffect.has(aliasSymbol.name)))
    return undefined
  const isOwn = ts.findAncestor(at, (node) => declarations.includes(node as ts.Declaration)) !== undefined
  const name = isOwn ? undefined : context.refer(aliasSymbol)
  if (name === undefined || aliasTypeArguments === undefined) return name
  return `${name}<${aliasTypeArguments.map((argument) => context.print(argument, at) ?? "unknown").join(", ")}>`
}

/** `null` and `undefined` come last, and `true | false` is `boolean`. */
const printUnion = (context: Context, { types }: ts.UnionType, at: ts.Node): string | undefined => {
  const isBoolean = (part: ts.Type) => (part.flags & ts.TypeFlags.BooleanLiteral) !== 0
  const hasBoolean = types.filter(isBoolean).length === 2
  const parts = types
    .filter((part) => !(hasBoolean && isBoolean(part)))
    .flatMap((part) => context.print(part, at) ?? [])
  if (hasBoolean) parts.push("boolean")
  const last = ["null", "undefined"]
  parts.sort((left, right) => last.indexOf(left) - last.indexOf(right))
  return parts.length === 0 ? undefined : parts.map((part) => (part.includes("=>") ? `(${part})` : part)).join(" | ")
}

/** A class or an interface, by its name. */
const printNamed = (context: Context, type: ts.TypeReference, at: ts.Node): string | undefined => {
  const symbol = type.getSymbol()
  const [declaration] = symbol?.declarations ?? []
  if (symbol === undefined || declaration === undefined) return undefined
  const { checker, origins } = context
  const isForeign = !origins.isOurs(declaration) && !origins.isEffect(declaration)
  if (origins.isService(symbol, declaration)) return undefined
  const name = isForeign ? symbol.name : context.refer(symbol)
  if (name === undefined) return undefined
  const count = type.target?.typeParameters?.length ?? 0
  const printed = checker
    .getTypeArguments(type)
    .slice(0, count)
    .map((argument) => context.print(argument, at))
  if (printed.includes(undefined) && isForeign) return undefined
  return printed.length === 0 ? name : `${name}<${printed.map((text) => text ?? "unknown").join(", ")}>`
}

/** A field with its type; undefined if it is optional and needs Effect. */
export const printField = (context: Context, field: ts.Symbol, at: ts.Node): string | undefined => {
  const isOptional = (field.flags & ts.SymbolFlags.Optional) !== 0
  const type = context.checker.getTypeOfSymbolAtLocation(field, at)
  const text = context.print(type, at) ?? (isOptional ? undefined : "unknown")
  if (text === undefined) return undefined
  const name = /^[\w$]+$/.test(field.name) ? field.name : JSON.stringify(field.name)
  // Every field of a schema is read-only.
  return `readonly ${name}${isOptional ? "?" : ""}: ${text}`
}

const printFields = (context: Context, type: ts.ObjectType, at: ts.Node): string => {
  const indexes = context.checker.getIndexInfosOfType(type).map(({ keyType, type, isReadonly }) => {
    const value = context.print(type, at) ?? "unknown"
    return `${isReadonly ? "readonly " : ""}[name: ${context.print(keyType, at)}]: ${value}`
  })
  const fields = [...indexes, ...type.getProperties().flatMap((field) => printField(context, field, at) ?? [])]
  if (fields.length === 0) return "{}"
  const line = `{ ${fields.join("; ")} }`
  const text = line.length > 100 ? `{\n${fields.join("\n")}\n}` : line
  context.objects.add(text)
  return text
}

const refuse = (context: Context, type: ts.Type, at: ts.Node): never => {
  const within = context.printing.map((outer) => asText(context, outer, at)).join(" / ")
  throw new Error(
    `Types such as ${asText(context, type, at)} are not known, in ${within} of ${at.getSourceFile().fileName}`
  )
}

const printObject = (context: Context, type: ts.ObjectType, at: ts.Node): string | undefined => {
  const { checker, printing } = context
  if (checker.isTupleType(type)) return refuse(context, type, at)
  if (type.objectFlags & ts.ObjectFlags.Reference || type.isClassOrInterface())
    return printNamed(context, type as ts.TypeReference, at)
  // A type that contains itself has no text.
  if (type.getCallSignatures().length > 0 || printing.includes(type)) return refuse(context, type, at)
  if (type.getConstructSignatures().length > 0) return undefined
  printing.push(type)
  try {
    return printFields(context, type, at)
  } finally {
    printing.pop()
  }
}

export const printType = (context: Context, type: ts.Type, at: ts.Node): string | undefined => {
  const alias = printAlias(context, type, at)
  if (alias !== undefined) return alias
  if (type.flags & ts.TypeFlags.Boolean) return "boolean"
  if (type.flags & keywords) return asText(context, type, at)
  if (type.isUnion()) return printUnion(context, type, at)
  if (type.isIntersection()) {
    const parts = type.types.flatMap((part) => context.print(part, at) ?? [])
    return parts.length === 0 ? undefined : parts.join(" & ")
  }
  return type.flags & ts.TypeFlags.Object ? printObject(context, type as ts.ObjectType, at) : refuse(context, type, at)
}
