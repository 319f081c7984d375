/** Writes what a file adds to modules of others and to the globals, such as `req.consumer` of Express. */
import ts from "typescript5"
import type { Context } from "./Context.ts"
import { writeMembers, writeTypeParameters } from "./members.ts"

const writeBody = (context: Context, body: ts.ModuleDeclaration["body"]): string => {
  if (body === undefined || !ts.isModuleBlock(body)) return ""
  return body.statements
    .map((statement) => {
      if (ts.isModuleDeclaration(statement))
        return `namespace ${statement.name.text} {\n${writeBody(context, statement.body)}}\n`
      if (!ts.isInterfaceDeclaration(statement)) return ""
      const head = `interface ${statement.name.text}${writeTypeParameters(context, statement)}`
      return `${head} {\n${writeMembers(context, statement.members)}}\n`
    })
    .join("")
}

/** A module of ours is the file that declares what is added to. */
const findOwnFile = ({ origins }: Context, name: ts.StringLiteral): string | undefined => {
  const target = origins.resolve(name)?.declarations?.[0]
  return target !== undefined && origins.isOurs(target) ? `./${origins.packageOf(target)}.js` : undefined
}

export const writeAugmentations = (context: Context, file: ts.SourceFile): void => {
  for (const statement of file.statements) {
    if (!ts.isModuleDeclaration(statement) || statement.body === undefined) continue
    const { name } = statement
    const body = writeBody(context, statement.body)
    if (!ts.isStringLiteral(name)) {
      const head = name.text === "global" ? "global" : `namespace ${name.text}`
      context.output.declare(`declare ${head} {\n${body}}`)
      continue
    }
    const ownFile = findOwnFile(context, name)
    context.output.declare(`declare module "${ownFile ?? name.text}" {\n${body}}`)
    if (ownFile === undefined) context.output.import(name.text, "")
  }
}
