/** Writes a type as its declaration has it, with what it takes from Effect replaced by what it is. */
import ts from "typescript5"
import type { Context } from "./Context.ts"
import { writeMembers, writeSignature } from "./members.ts"
import { writeReference } from "./references.ts"

/** Replaces the type by what the compiler knows of it. */
const expand = (context: Context, node: ts.TypeNode): string | undefined =>
  context.print(context.checker.getTypeFromTypeNode(node), node)

const mentionsValue = (node: ts.Node): boolean =>
  ts.isTypeQueryNode(node) || ts.forEachChild(node, mentionsValue) === true

/** The text of a node, with the types in it rendered. */
const renderParts = (context: Context, node: ts.Node): string | undefined => {
  let text = ""
  let end = node.getStart()
  let isComplete = true
  const visit = (child: ts.Node): void => {
    if (!ts.isTypeNode(child)) {
      ts.forEachChild(child, visit)
      return
    }
    const rendered = context.render(child)
    if (rendered === undefined) isComplete = false
    text += child.getSourceFile().text.slice(end, child.getStart()) + rendered
    end = child.getEnd()
  }
  ts.forEachChild(node, visit)
  return isComplete ? text + node.getSourceFile().text.slice(end, node.getEnd()) : undefined
}

const isComputed = (node: ts.TypeNode): boolean =>
  ts.isTypeOperatorNode(node) ||
  ts.isIndexedAccessTypeNode(node) ||
  ts.isMappedTypeNode(node) ||
  ts.isConditionalTypeNode(node)

export const renderType = (context: Context, node: ts.TypeNode): string | undefined => {
  if (ts.isTypeReferenceNode(node)) return writeReference(context, node, node.typeName, node.typeArguments)
  if (ts.isImportTypeNode(node)) {
    return node.qualifier === undefined || node.isTypeOf
      ? expand(context, node)
      : writeReference(context, node, node.qualifier, node.typeArguments)
  }
  if (ts.isTypeQueryNode(node)) return expand(context, node)
  if (ts.isUnionTypeNode(node) || ts.isIntersectionTypeNode(node)) {
    const parts = node.types.flatMap((part) => context.render(part) ?? [])
    return parts.length === 0 ? undefined : parts.join(ts.isUnionTypeNode(node) ? " | " : " & ")
  }
  if (ts.isFunctionTypeNode(node)) return writeSignature(context, node, " => ")
  if (ts.isTypeLiteralNode(node)) return `{\n${writeMembers(context, node.members)}}`
  const needsCompiler = isComputed(node) && (context.origins.mentionsEffect(node) || mentionsValue(node))
  return needsCompiler ? expand(context, node) : renderParts(context, node)
}
