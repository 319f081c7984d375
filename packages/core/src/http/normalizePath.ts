/** Normalizes a path, without its query, for routing: removes a trailing slash and decodes `%24`. */
export const normalizePath = (path: string): string => {
  const trimmed = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path
  // The router would cut the path off at a semicolon.
  return trimmed.replaceAll("%24", "$").replaceAll(";", "%3B")
}
