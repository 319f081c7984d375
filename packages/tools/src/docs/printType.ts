/**
 * Prints types and signatures as a TypeScript program would declare them.
 */
import ts from "typescript5"

const typeFlags =
  ts.NodeBuilderFlags.NoTruncation |
  ts.NodeBuilderFlags.InTypeAlias |
  ts.NodeBuilderFlags.MultilineObjectLiterals |
  ts.NodeBuilderFlags.UseAliasDefinedOutsideCurrentScope |
  ts.NodeBuilderFlags.OmitParameterModifiers

const printer = ts.createPrinter({ removeComments: true })

export const printType = (checker: ts.TypeChecker, type: ts.Type, at: ts.Node): string => {
  const node = checker.typeToTypeNode(type, at, typeFlags)
  if (node === undefined) return "unknown"
  return printer
    .printNode(ts.EmitHint.Unspecified, node, at.getSourceFile())
    .replace(/^( {4})+/gm, (indent) => indent.slice(0, indent.length / 2))
    .replace(/;$/gm, "")
}

const printAs = (checker: ts.TypeChecker, signature: ts.Signature, kind: ts.SyntaxKind, at: ts.Node): string => {
  const flags = typeFlags & ~ts.NodeBuilderFlags.InTypeAlias
  const node = checker.signatureToSignatureDeclaration(signature, kind, at, flags)
  if (node === undefined) return ""
  return printer.printNode(ts.EmitHint.Unspecified, node, at.getSourceFile()).replace(/;$/, "")
}

/** The parameters and the result of a function: `(name: string): boolean`. */
export const printSignature = (checker: ts.TypeChecker, signature: ts.Signature, at: ts.Node): string =>
  printAs(checker, signature, ts.SyntaxKind.CallSignature, at)

/** `constructor(name: string)`. */
export const printConstructor = (checker: ts.TypeChecker, signature: ts.Signature, at: ts.Node): string =>
  printAs(checker, signature, ts.SyntaxKind.Constructor, at)
