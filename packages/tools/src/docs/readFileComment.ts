/**
 * Reads the comment at the start of a file, which says what the module is for.
 */
import type ts from "typescript5"

export const readFileComment = (
  file: ts.SourceFile
): { readonly text: string; readonly examples: ReadonlyArray<string> } => {
  const comment = /^\/\*\*(.*?)\*\//s.exec(file.text)?.[1] ?? ""
  const [text = "", ...examples] = comment.replace(/^\s*\* ?/gm, "").split("@example\n")
  return { text: text.trim(), examples: examples.map((example) => example.trim()) }
}
