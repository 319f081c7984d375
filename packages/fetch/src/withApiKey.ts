import type { AuthorizingKeyBucket } from "@tollgate/core/internal"
import { type ConsumerUnder, type Policy, type PolicyOptions, requireApiKey } from "./requireApiKey.ts"

/** Adds headers that the response does not have, in place if possible. */
const addHeaders = (response: Response, headers: Readonly<Record<string, string>>): Response => {
  const missing = Object.entries(headers).filter(([name]) => !response.headers.has(name))
  try {
    for (const [name, value] of missing) response.headers.set(name, value)
    return response
  } catch {
    // The headers of a response from `fetch` or `Response.redirect` are immutable.
    const copy = new Response(response.body, response)
    for (const [name, value] of missing) copy.headers.set(name, value)
    return copy
  }
}

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
  OnStoreUnavailable extends Policy = "deny"
>(
  keyBucket: AuthorizingKeyBucket,
  options: PolicyOptions<OnStoreUnavailable, HostRequest>,
  handler: (
    request: HostRequest,
    authorized: { readonly consumer: ConsumerUnder<OnStoreUnavailable> },
    ...rest: Rest
  ) => Response | Promise<Response>
): ((request: HostRequest, ...rest: Rest) => Promise<Response>) => {
  const protect = requireApiKey(keyBucket, options)
  return async (request, ...rest) => {
    const result = await protect(request)
    if (!result.allowed) return result.response
    return addHeaders(await handler(request, { consumer: result.consumer }, ...rest), result.headers)
  }
}
