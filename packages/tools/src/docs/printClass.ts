/**
 * Prints the public members of a class: its constructor, its fields and methods, and its static members, such as `open`
 * and `layer` of a store.
 */
import ts from "typescript5"
import { printConstructor, printSignature, printType } from "./printType.ts"

const hasModifier = (member: ts.ClassElement, kind: ts.SyntaxKind): boolean =>
  ts.canHaveModifiers(member) && member.modifiers?.some((modifier) => modifier.kind === kind) === true

const printComment = (node: ts.Node): string => {
  const comment = ts.getJSDocCommentsAndTags(node).find(ts.isJSDoc)
  return comment === undefined ? "" : `  ${comment.getText()}\n`
}

/** The message is that of every error; a computed name, such as `[Symbol.hasInstance]`, is for the language only. */
const isPublic = (member: ts.ClassElement): boolean =>
  member.name !== undefined &&
  ts.isIdentifier(member.name) &&
  member.name.text !== "message" &&
  !hasModifier(member, ts.SyntaxKind.PrivateKeyword)

const printMember = (checker: ts.TypeChecker, member: ts.ClassElement): string => {
  const name = member.name?.getText() ?? ""
  const type = checker.getTypeAtLocation(member)
  const [signature] = type.getCallSignatures()
  if (hasModifier(member, ts.SyntaxKind.StaticKeyword)) {
    return `  static ${name}: ${printType(checker, type, member).replaceAll("\n", "\n  ")}`
  }
  const text =
    ts.isMethodDeclaration(member) && signature !== undefined
      ? printSignature(checker, signature, member)
      : `: ${printType(checker, type, member).replaceAll("\n", "\n  ")}`
  const isReadonly = ts.isGetAccessor(member) || hasModifier(member, ts.SyntaxKind.ReadonlyKeyword)
  return `${printComment(member)}  ${isReadonly ? "readonly " : ""}${name}${text}`
}

/** The constructor of an error that is declared with a schema. Its parameter has the fields of the schema, and a tag. */
const printSchemaConstructor = (checker: ts.TypeChecker, symbol: ts.Symbol, at: ts.Node): string => {
  const [signature] = checker.getTypeOfSymbolAtLocation(symbol, at).getConstructSignatures()
  const parameters =
    signature?.getParameters().map((parameter) => checker.getTypeOfSymbolAtLocation(parameter, at)) ?? []
  const fields = parameters
    .flatMap((type) => (checker.isTupleType(type) ? checker.getTypeArguments(type as ts.TypeReference) : [type]))[0]
    ?.getProperties()
    .filter(({ name }) => name !== "_tag")
    .map((field) => {
      const isOptional = (field.flags & ts.SymbolFlags.Optional) !== 0
      const type = checker.getTypeOfSymbolAtLocation(field, at)
      return `readonly ${field.name}${isOptional ? "?" : ""}: ${printType(checker, type, at)}`
    })
  return `  constructor(fields: { ${fields?.join("; ")} })`
}

const printConstructors = (checker: ts.TypeChecker, declaration: ts.ClassDeclaration): ReadonlyArray<string> =>
  declaration.members.filter(ts.isConstructorDeclaration).flatMap((member) => {
    const signature = checker.getSignatureFromDeclaration(member)
    return signature === undefined ? [] : [`${printComment(member)}  ${printConstructor(checker, signature, member)}`]
  })

export const printClass = (
  checker: ts.TypeChecker,
  name: string,
  symbol: ts.Symbol,
  declaration: ts.ClassDeclaration
): string => {
  const base = declaration.heritageClauses?.find(({ token }) => token === ts.SyntaxKind.ExtendsKeyword)?.types[0]
  const isSchemaError = base?.getText().startsWith("Schema.TaggedError") === true
  const members = [
    ...(isSchemaError ? [printSchemaConstructor(checker, symbol, declaration)] : []),
    ...printConstructors(checker, declaration),
    ...declaration.members.filter(isPublic).map((member) => printMember(checker, member))
  ]
  if (members.length === 0) return ""
  const parameters = declaration.typeParameters?.map((parameter) => parameter.getText()).join(", ")
  const baseName = base !== undefined && ts.isIdentifier(base.expression) ? base.getText() : isSchemaError && "Error"
  return `class ${name}${parameters ? `<${parameters}>` : ""}${baseName ? ` extends ${baseName}` : ""} {\n${members.join("\n")}\n}`
}
