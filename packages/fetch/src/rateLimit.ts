import type { AuthorizingKeyBucket } from "@tollgate/core/internal"
import { makeLimitRequest, type RateLimitRouteOptions } from "@tollgate/protect"
import { toProblemResponse, toRequestLike } from "./requireApiKey.ts"

/** The result for one request: whether it may pass, or the response to send instead. */
export type RateLimitResult =
  | {
      readonly allowed: true
      /** `RateLimit-Policy` and `RateLimit`: add them to your response. */
      readonly headers: Readonly<Record<string, string>>
    }
  | {
      readonly allowed: false
      /** The problem response, with status 429 or 503. */
      readonly response: Response
    }

/**
 * Returns a function that limits requests without a key, for sign-ups and public routes: all requests with the same `by`
 * share the limit. A `Request` has no address, so `by` takes it from your server, or from a header that your proxy sets.
 *
 * @example
 * ```ts
 * const production = gate.account("acme").keyBucket("production")
 * const limit = rateLimit(production, { by: (request) => request.headers.get("x-real-ip") ?? undefined, limit: 5, per: "minute" })
 * app.post("/sign-up", async (c) => {
 *   const result = await limit(c.req.raw)
 *   return result.allowed ? c.text("ok", 202, result.headers) : result.response
 * })
 * ```
 */
export const rateLimit = <HostRequest extends Request = Request>(
  keyBucket: AuthorizingKeyBucket,
  options: RateLimitRouteOptions<HostRequest>
): ((request: HostRequest) => Promise<RateLimitResult>) => {
  const limitRequest = makeLimitRequest(keyBucket, options, rateLimit)
  return async (request) => {
    const result = await limitRequest(toRequestLike(request), request)
    if (!result.allowed) return { allowed: false, response: toProblemResponse(result) }
    return { allowed: true, headers: result.headers }
  }
}
