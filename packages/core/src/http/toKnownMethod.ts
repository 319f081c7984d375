const knownMethods: ReadonlySet<string> = new Set([
  "CONNECT",
  "DELETE",
  "GET",
  "HEAD",
  "OPTIONS",
  "PATCH",
  "POST",
  "PUT",
  "TRACE"
])

/** `_OTHER`, as the semantic conventions say, for a method that a client has made up. */
export const toKnownMethod = (method: string): string => (knownMethods.has(method) ? method : "_OTHER")
