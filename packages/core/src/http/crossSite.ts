/**
 * Protects against cross-site request forgery (CSRF): another site can make a browser send a request with the user's
 * cookies, and with credentials that it has remembered, such as those of Basic authentication. If `authenticate` reads
 * them, such a request would act as the user. Other sites cannot make a browser send a Bearer token.
 */

import type { TransportRequest } from "@tollgate/store/internal"
import { parseBearerToken } from "../access/parseBearerToken.ts"

const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"])

const parseHost = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined)

/** Whether a page of another origin sent a request with an unsafe method and without a Bearer token. */
export const isCrossSite = ({ method, headers, toWebRequest }: TransportRequest): boolean => {
  if (safeMethods.has(method) || parseBearerToken(headers["authorization"]) !== undefined) return false
  // The browser sets Sec-Fetch-Site; scripts cannot change it.
  const site = headers["sec-fetch-site"]
  if (site !== undefined) return site !== "same-origin" && site !== "none"
  const origin = headers["origin"]
  return origin !== undefined && parseHost(origin) !== (headers["host"] ?? parseHost(toWebRequest().url))
}
