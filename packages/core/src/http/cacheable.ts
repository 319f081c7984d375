/**
 * Responses that change only with the software version: served with a strong ETag, and with 304 if the client has a copy.
 */
import { hash } from "node:crypto"
import type { TransportRequest, TransportResponse } from "@tollgate/store/internal"

/** A response that changes only with the software version. */
export interface Cacheable {
  readonly etag: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/** Makes a strong ETag of contents. */
export const makeETag = (...contents: ReadonlyArray<string>): string =>
  `"${hash("sha256", JSON.stringify(contents), "base64url").slice(0, 22)}"`

/** If-None-Match compares weakly: a proxy that compresses a response makes its ETag weak. */
const hasCopy = ({ headers }: TransportRequest, etag: string): boolean => {
  const ifNoneMatch = headers["if-none-match"] ?? ""
  return ifNoneMatch.trim() === "*" || Array.from(ifNoneMatch.matchAll(/"[^"]*"/g), ([tag]) => tag).includes(etag)
}

/**
 * Responds with 200 or 304. Both carry all headers: a browser updates its cached headers from a 304, and would otherwise
 * adopt those set by your application's middleware, such as its Content-Security-Policy.
 */
export const respondCacheable = (request: TransportRequest, { etag, headers, body }: Cacheable): TransportResponse => {
  const allHeaders = { "cache-control": "no-cache", ...headers, etag }
  return hasCopy(request, etag)
    ? { status: 304, headers: allHeaders, body: undefined }
    : { status: 200, headers: allHeaders, body }
}
