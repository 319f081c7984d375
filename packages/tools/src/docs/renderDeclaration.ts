/**
 * Renders a declaration as Markdown: its comment, its type as a TypeScript program would declare it, and its examples.
 */
import ts from "typescript5"
import { printClass } from "./printClass.ts"
import { printSignature, printType } from "./printType.ts"
import { readFileComment } from "./readFileComment.ts"

/** Types of more characters than this say less than their comment. */
const maxTypeLength = 4_000

/** Whether the text of a type says only how it is computed, not what it is. */
const isComputed = (text: string): boolean => /typeof |\bSchema\.|\bOperation/.test(text)

/** The source of a declaration, with the comments of its members, without its own comment, and with computed types replaced. */
const printSource = (checker: ts.TypeChecker, declaration: ts.Node): string => {
  const start = declaration.getStart()
  let text = declaration.getText()
  const computed: Array<ts.TypeNode> = []
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) && isComputed(node.getText()) && /^(?:Input<|typeof )/.test(node.getText()))
      computed.push(node)
    else ts.forEachChild(node, visit)
  }
  visit(declaration)
  for (const node of computed.reverse()) {
    const [from, to] = [node.getStart() - start, node.getEnd() - start]
    const indent = /^ */.exec(text.slice(text.lastIndexOf("\n", from) + 1))?.[0] ?? ""
    const type = printType(checker, checker.getTypeFromTypeNode(node), node).replaceAll("\n", `\n${indent}`)
    text = `${text.slice(0, from)}${type}${text.slice(to)}`
  }
  return text.replace(/\n *\*\n *\* @example.*?(?=\n *\*\/)/gs, "").replace(/^export (?:default |declare )?/, "")
}

const printTypeAlias = (checker: ts.TypeChecker, name: string, symbol: ts.Symbol, at: ts.Node): string => {
  const text = printSource(checker, at)
  if (ts.isInterfaceDeclaration(at) || !isComputed(at.getText())) return text
  return `type ${name} = ${printType(checker, checker.getDeclaredTypeOfSymbol(symbol), at)}`
}

/** A module that is exported under a name, such as `Partition`: what it exports, with comments. */
const printModule = (checker: ts.TypeChecker, name: string, module: ts.Symbol): string => {
  const members = checker.getExportsOfModule(module).map((symbol) => {
    const comment = ts.displayPartsToString(symbol.getDocumentationComment(checker)).replaceAll("\n", "\n * ")
    const code = renderCode(checker, symbol.name, symbol, false)
    return `${comment === "" ? "" : `/** ${comment} */\n`}${code}`.replaceAll(/^/gm, "  ")
  })
  return `namespace ${name} {\n${members.join("\n")}\n}`
}

/** The declaration as code, or nothing if its comment says more. */
const renderCode = (checker: ts.TypeChecker, name: string, symbol: ts.Symbol, isType: boolean): string => {
  const declarations = symbol.declarations ?? []
  const typeDeclaration = declarations.find(
    (node) => ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)
  )
  const valueDeclaration = isType ? undefined : symbol.valueDeclaration
  if (valueDeclaration === undefined) {
    return typeDeclaration === undefined ? "" : printTypeAlias(checker, name, symbol, typeDeclaration)
  }
  if (ts.isSourceFile(valueDeclaration)) return printModule(checker, name, symbol)
  if (ts.isClassDeclaration(valueDeclaration)) return printClass(checker, name, symbol, valueDeclaration)
  const type = checker.getTypeOfSymbolAtLocation(symbol, valueDeclaration)
  const signatures = type.getCallSignatures()
  if (signatures.length > 0 && type.getProperties().length === 0) {
    return signatures
      .map((signature) => `function ${name}${printSignature(checker, signature, valueDeclaration)}`)
      .join("\n")
  }
  const decoded = type.getProperty("Encoded") && type.getProperty("Type")
  if (decoded !== undefined) {
    const text = printType(checker, checker.getTypeOfSymbol(decoded), valueDeclaration)
    return `const ${name}: Schema.Codec<${text}>`
  }
  return `const ${name}: ${printType(checker, type, valueDeclaration)}`
}

/** The comment and the examples of a name. Those of a module are at the start of its file. */
const readComment = (checker: ts.TypeChecker, symbol: ts.Symbol) => {
  const file = symbol.declarations?.find(ts.isSourceFile)
  if (file !== undefined) return readFileComment(file)
  const examples = symbol.getJsDocTags(checker).filter((tag) => tag.name === "example")
  return {
    text: ts.displayPartsToString(symbol.getDocumentationComment(checker)),
    examples: examples.map((tag) => ts.displayPartsToString(tag.text))
  }
}

export const renderDeclaration = (
  checker: ts.TypeChecker,
  name: string,
  symbol: ts.Symbol,
  isType: boolean
): string => {
  const { text, examples } = readComment(checker, symbol)
  const code = renderCode(checker, name, symbol, isType)
  const parts = [text, ...(code === "" || code.length > maxTypeLength ? [] : [`\`\`\`typescript\n${code}\n\`\`\``])]
  return [...parts, ...examples.map((example) => `Example:\n\n${example.replace("```ts", "```typescript")}`)]
    .filter((part) => part !== "")
    .join("\n\n")
}
