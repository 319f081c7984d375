/**
 * The token of an `Authorization: Bearer` header. Not by a regular expression: engines keep the text of the last match.
 */
export const parseBearer = (header: string | undefined): string | undefined => {
  if (header === undefined || header.slice(0, 7).toLowerCase() !== "bearer ") return undefined
  const token = header.slice(7).trim()
  return token === "" || token.includes(" ") || token.includes("\t") ? undefined : token
}
