/**
 * Reads headers and query parameters of requests, for frameworks that have no functions for it.
 */
import type { IncomingHttpHeaders } from "node:http"

/** The value of a header of Node's request; `undefined` if Node has kept several. */
export const readHeader = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name.toLowerCase()]
  return typeof value === "string" ? value : undefined
}

/** A query parameter of a URL or of a path. One that occurs several times is an array, as in other frameworks. */
export const readQueryParameter = (url: string, name: string): unknown => {
  const [, query = ""] = /^[^?#]*\?([^#]*)/.exec(url) ?? []
  const values = new URLSearchParams(query).getAll(name)
  return values.length > 1 ? values : values[0]
}
