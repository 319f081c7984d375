import type { AuthorizingKeyBucket } from "@tollgate/core/internal"
import { finishResponse } from "./finishResponse.ts"
import {
  type ConsumerUnder,
  makeCheck,
  type Policy,
  type PolicyOptions,
  type Reserve,
  type ReserveOptions,
  toProblemResponse
} from "./requireApiKey.ts"

/**
 * Wraps a handler: it runs only for requests with a valid API key, and its response carries the `RateLimit` headers.
 * Further arguments, such as the context of Next or Hono, are passed through.
 *
 * @example
 * ```ts
 * // app/api/hello/route.ts of Next
 * export const GET = withApiKey(production, { metering }, (request, { consumer }) =>
 *   Response.json({ hello: consumer.name })
 * )
 * ```
 */
export const withApiKey = <
  HostRequest extends Request,
  Rest extends ReadonlyArray<unknown>,
  OnStoreUnavailable extends Policy = "deny",
  Reserved extends Reserve = undefined
>(
  keyBucket: AuthorizingKeyBucket,
  options: PolicyOptions<OnStoreUnavailable, HostRequest> & ReserveOptions<Reserved>,
  handler: (
    request: HostRequest,
    authorized: { readonly consumer: ConsumerUnder<OnStoreUnavailable, Reserved> },
    ...rest: Rest
  ) => Response | Promise<Response>
): ((request: HostRequest, ...rest: Rest) => Promise<Response>) => {
  const check = makeCheck(keyBucket, options, withApiKey)
  return async (request, ...rest) => {
    const result = await check(request)
    if (!result.allowed) return toProblemResponse(result)
    // There is always a consumer, unless `onStoreUnavailable` is `allow`.
    const consumer = result.consumer as ConsumerUnder<OnStoreUnavailable, Reserved>
    try {
      return finishResponse(request, await handler(request, { consumer }, ...rest), result)
    } catch (error) {
      result.reportOutcome?.("failure")
      throw error
    }
  }
}
