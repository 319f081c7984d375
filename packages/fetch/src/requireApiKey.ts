import {
  type AuthorizeRequestResult,
  type AuthorizingKeyBucket,
  makeAuthorizeRequest,
  type RequestConsumer,
  type RequireApiKeyOptions
} from "@tollgate/core/internal"

export type Policy = "deny" | "allow"

/** The options, with the type of `onStoreUnavailable` as a parameter. */
export type PolicyOptions<
  OnStoreUnavailable extends Policy,
  HostRequest = Request
> = RequireApiKeyOptions<HostRequest> & {
  readonly onStoreUnavailable?: OnStoreUnavailable | undefined
}

/** With `onStoreUnavailable: "allow"`, a request may have no consumer. */
export type ConsumerUnder<OnStoreUnavailable extends Policy> = OnStoreUnavailable extends "deny"
  ? RequestConsumer
  : RequestConsumer | undefined

export type RequireApiKeyResult<Consumer = RequestConsumer> =
  | {
      readonly allowed: true
      /** The consumer whose API key authorized the request. */
      readonly consumer: Consumer
      /** `RateLimit-Policy` and `RateLimit`, if the route has limits or quotas: add them to your response. */
      readonly headers: Readonly<Record<string, string>>
    }
  | {
      readonly allowed: false
      /** The problem response, with status 401, 403, 429 or 503. */
      readonly response: Response
    }

/** A query parameter that occurs several times is an array, as in other frameworks. */
const getQueryParameter = (url: string, name: string): unknown => {
  const values = new URL(url).searchParams.getAll(name)
  return values.length > 1 ? values : values[0]
}

const toResult = (result: AuthorizeRequestResult): RequireApiKeyResult<RequestConsumer | undefined> => {
  if (result.allowed) return result
  const { status, headers, problem } = result
  return { allowed: false, response: new Response(JSON.stringify(problem), { status, headers }) }
}

/**
 * Returns a function that requires a valid API key and counts its use. It resolves to the consumer, or to the response
 * to send instead: 401, 403, 429 or 503.
 *
 * @example
 * ```ts
 * const protect = requireApiKey(production)
 * app.get("/hello", async (c) => {
 *   const result = await protect(c.req.raw)
 *   return result.allowed ? c.text(`Hello, ${result.consumer.name}`, 200, result.headers) : result.response
 * })
 * ```
 */
export const requireApiKey = <OnStoreUnavailable extends Policy = "deny", HostRequest extends Request = Request>(
  keyBucket: AuthorizingKeyBucket,
  options?: PolicyOptions<OnStoreUnavailable, HostRequest>
): ((request: HostRequest) => Promise<RequireApiKeyResult<ConsumerUnder<OnStoreUnavailable>>>) => {
  const authorizeRequest = makeAuthorizeRequest(keyBucket, options)
  return async (request) => {
    const { headers, url } = request
    const result = await authorizeRequest(
      { header: (name) => headers.get(name) ?? undefined, query: (name) => getQueryParameter(url, name) },
      request
    )
    // There is always a consumer, unless `onStoreUnavailable` is `allow`.
    return toResult(result) as RequireApiKeyResult<ConsumerUnder<OnStoreUnavailable>>
  }
}
