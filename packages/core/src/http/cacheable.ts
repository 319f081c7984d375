/**
 * Responses that change only with the software: served with a strong ETag, and as 304 to a client that has them already.
 */
import { hash } from "node:crypto"
import type { TransportRequest, TransportResponse } from "../runtime/Transport.ts"

export interface Cacheable {
  readonly etag: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

export const makeETag = (...contents: ReadonlyArray<string>): string =>
  `"${hash("sha256", JSON.stringify(contents), "base64url").slice(0, 22)}"`

/** If-None-Match compares weakly: a proxy that compresses a response makes its ETag weak. */
const hasCopy = ({ headers }: TransportRequest, etag: string): boolean => {
  const known = headers["if-none-match"] ?? ""
  return known.trim() === "*" || Array.from(known.matchAll(/"[^"]*"/g), ([tag]) => tag).includes(etag)
}

/**
 * Answers 200 or 304. Both carry all headers: a browser updates the headers of its copy from a 304, and would
 * otherwise take over those that middleware of the host has set, such as its Content-Security-Policy.
 */
export const respondCacheable = (asked: TransportRequest, { etag, headers, body }: Cacheable): TransportResponse => {
  const all = { "cache-control": "no-cache", ...headers, etag }
  return hasCopy(asked, etag) ? { status: 304, headers: all, body: undefined } : { status: 200, headers: all, body }
}
