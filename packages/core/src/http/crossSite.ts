/**
 * Cross-site request forgery: a page of another site can make a browser send a request with the user's cookies. Where
 * `authenticate` reads a cookie, such a request would be the user's own. A page cannot set `Authorization` on it.
 */
import type { TransportRequest } from "../runtime/Transport.ts"

const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"])

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined)

/** Whether a request that may change something was sent by a page of another origin, without `Authorization`. */
export const isCrossSite = ({ method, headers, toWebRequest: request }: TransportRequest): boolean => {
  if (safeMethods.has(method) || headers["authorization"] !== undefined) return false
  // Browsers say it themselves, and pages cannot change what they say.
  const site = headers["sec-fetch-site"]
  if (site !== undefined) return site !== "same-origin" && site !== "none"
  const origin = headers["origin"]
  return origin !== undefined && hostOf(origin) !== (headers["host"] ?? hostOf(request().url))
}
