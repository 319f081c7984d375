/**
 * Parses the token of an `Authorization: Bearer` header. It uses no regular expression because JavaScript engines keep the
 * last matched string (`RegExp.lastMatch`), which would be the token.
 */
export const parseBearerToken = (header: string | undefined): string | undefined => {
  if (header === undefined || header.slice(0, 7).toLowerCase() !== "bearer ") return undefined
  const token = header.slice(7).trim()
  return token === "" || token.includes(" ") || token.includes("\t") ? undefined : token
}
