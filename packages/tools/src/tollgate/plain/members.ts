/** Writes comments, parameters and members of declarations. */
import ts from "typescript5"
import type { Context } from "./Context.ts"

const hasModifier = (node: ts.Node, modifier: ts.SyntaxKind): boolean =>
  ts.canHaveModifiers(node) && node.modifiers?.some(({ kind }) => kind === modifier) === true

/** Without the lines of examples that use Effect. */
export const writeComment = (node: ts.Node): string => {
  const comment = ts.getJSDocCommentsAndTags(node).find(ts.isJSDoc)
  return comment === undefined ? "" : `${comment.getText().replaceAll(/(\n \*)?\n.*\bEffect\.provide\(.*/g, "")}\n`
}

export const writeTypeParameters = (
  context: Context,
  { typeParameters }: { readonly typeParameters?: ts.NodeArray<ts.TypeParameterDeclaration> | undefined }
): string => {
  if (typeParameters === undefined) return ""
  const texts = typeParameters.map((parameter) => {
    const modifiers = (parameter.modifiers ?? []).map((modifier) => `${modifier.getText()} `).join("")
    const constraint = parameter.constraint && ` extends ${context.render(parameter.constraint) ?? "unknown"}`
    const byDefault = parameter.default && ` = ${context.render(parameter.default) ?? "unknown"}`
    return `${modifiers}${parameter.name.text}${constraint ?? ""}${byDefault ?? ""}`
  })
  return `<${texts.join(", ")}>`
}

/** Parameters and result; undefined if one of them needs Effect. */
export const writeSignature = (context: Context, node: ts.SignatureDeclaration, arrow: string): string | undefined => {
  const parameters = node.parameters.map((parameter) => {
    const type = parameter.type === undefined ? "unknown" : context.render(parameter.type)
    if (type === undefined) return undefined
    const name = ts.isIdentifier(parameter.name) ? parameter.name.text : "options"
    return `${parameter.dotDotDotToken ? "..." : ""}${name}${parameter.questionToken ? "?" : ""}: ${type}`
  })
  const result = node.type === undefined ? "void" : context.render(node.type)
  if (result === undefined || parameters.includes(undefined)) return undefined
  return `${writeTypeParameters(context, node)}(${parameters.join(", ")})${arrow}${result}`
}

const writeMember = (context: Context, member: ts.TypeElement, isValue: boolean): string => {
  const symbol =
    member.name && ts.isComputedPropertyName(member.name) ? context.origins.resolve(member.name.expression) : undefined
  const name = symbol === undefined ? (member.name?.getText() ?? "") : `[${context.refer(symbol)}]`
  const readonly = hasModifier(member, ts.SyntaxKind.ReadonlyKeyword) ? "readonly " : ""
  const head = `${readonly}${name}${member.questionToken ? "?" : ""}`
  // A required member that needs Effect stays, so that an object of the packages fits; a value has no use for it.
  const isLeftOut = isValue || member.questionToken !== undefined
  const comment = writeComment(member)
  if (ts.isPropertySignature(member)) {
    const type = member.type === undefined ? "unknown" : context.render(member.type)
    if (type !== undefined) return `${comment}${head}: ${type}\n`
    return isLeftOut ? "" : `${head}: unknown\n`
  }
  if (
    ts.isMethodSignature(member) ||
    ts.isCallSignatureDeclaration(member) ||
    ts.isConstructSignatureDeclaration(member)
  ) {
    const signature = writeSignature(context, member, ": ")
    if (signature !== undefined)
      return `${comment}${ts.isConstructSignatureDeclaration(member) ? "new " : head}${signature}\n`
    return isLeftOut || name === "" ? "" : `readonly ${name}: unknown\n`
  }
  if (ts.isIndexSignatureDeclaration(member)) {
    const [parameter] = member.parameters
    return `${readonly}[${parameter?.getText()}]: ${context.render(member.type) ?? "unknown"}\n`
  }
  throw new Error(`${ts.SyntaxKind[member.kind]} is not known: ${member.getText()}`)
}

/** Of values, members that need Effect are left out. */
export const writeMembers = (context: Context, members: ReadonlyArray<ts.TypeElement>, isValue = false): string =>
  members.map((member) => writeMember(context, member, isValue)).join("")

/** The static methods of a class that can be called without Effect. */
export const writeStaticMethods = (context: Context, node: ts.ClassDeclaration): string =>
  node.members
    .filter((member) => ts.isMethodDeclaration(member))
    .filter((member) => hasModifier(member, ts.SyntaxKind.StaticKeyword))
    .map((member) => {
      const signature = writeSignature(context, member, ": ")
      return signature === undefined ? "" : `${writeComment(member)}${member.name.getText()}${signature}\n`
    })
    .join("")
