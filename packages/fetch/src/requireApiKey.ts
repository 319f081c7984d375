import type { AuthorizingKeyBucket } from "@tollgate/core/internal"
import {
  type AuthorizeRequestResult,
  makeAuthorizeRequest,
  type RequestConsumer,
  type RequestLike,
  type RequireApiKeyOptions,
  readQueryParameter,
  type SettlingConsumer
} from "@tollgate/protect"
import { finishResponse, reportAbort } from "./finishResponse.ts"

export type Policy = "deny" | "allow"
export type Charge = "request" | "success" | "complete"
export type Reserve = RequireApiKeyOptions["reserve"]

/** The options, with the type of `onStoreUnavailable` as a parameter. */
export type PolicyOptions<
  OnStoreUnavailable extends Policy,
  HostRequest = Request
> = RequireApiKeyOptions<HostRequest> & {
  readonly onStoreUnavailable?: OnStoreUnavailable | undefined
}

/** The options, with the type of `reserve` as a parameter. */
export interface ReserveOptions<Reserved extends Reserve> {
  readonly reserve?: Reserved | undefined
}

/** With `reserve`, the route says what the request has used. */
type ConsumerWith<Reserved extends Reserve> = Reserved extends undefined ? RequestConsumer : SettlingConsumer

/** The function that `charge: "success"`, `"complete"` and `reserve` need, to know how the request ended. */
export type FinishUnder<ChargeOn extends Charge | "settle"> = ChargeOn extends "success" | "complete" | "settle"
  ? {
      /**
       * Takes your response, and returns the response to send: with the `RateLimit` headers, and charged when it is sent.
       * Without this call, only what you settle is charged.
       */
      readonly finish: (response: Response) => Response
    }
  : { readonly finish?: undefined }

/** With `onStoreUnavailable: "allow"`, a request may have no consumer. */
export type ConsumerUnder<
  OnStoreUnavailable extends Policy,
  Reserved extends Reserve = undefined
> = OnStoreUnavailable extends "deny" ? ConsumerWith<Reserved> : ConsumerWith<Reserved> | undefined

/** The result for one request: the consumer, or the response to send instead. */
export type RequireApiKeyResult<Consumer = RequestConsumer, ChargeOn extends Charge | "settle" = "request"> =
  | ({
      readonly allowed: true
      /** The consumer whose API key authorized the request. */
      readonly consumer: Consumer
      /** `RateLimit-Policy` and `RateLimit`, if the route has limits or quotas: add them to your response. */
      readonly headers: Readonly<Record<string, string>>
    } & FinishUnder<ChargeOn>)
  | {
      readonly allowed: false
      /** The problem response, with status 400, 401, 403, 429 or 503. */
      readonly response: Response
    }

export const toProblemResponse = ({
  status,
  headers,
  problem
}: Extract<AuthorizeRequestResult, { readonly allowed: false }>): Response =>
  new Response(JSON.stringify(problem), { status, headers })

export const toRequestLike = ({ headers, url }: Request): RequestLike => ({
  header: (name) => headers.get(name) ?? undefined,
  query: (name) => readQueryParameter(url, name)
})

/** Validates the options, and returns the function that authorizes each request. */
export const makeCheck = <HostRequest extends Request>(
  keyBucket: AuthorizingKeyBucket,
  options: RequireApiKeyOptions<HostRequest> | undefined,
  // biome-ignore lint/complexity/noBannedTypes: `requireApiKey` or `withApiKey`
  caller: Function
) => {
  const authorizeRequest = makeAuthorizeRequest(keyBucket, options, caller)
  return async (request: HostRequest): Promise<AuthorizeRequestResult> =>
    reportAbort(request, await authorizeRequest(toRequestLike(request), request))
}

/**
 * Returns a function that requires a valid API key and counts its use. It resolves to the consumer, or to the response
 * to send instead: 400, 401, 403, 429 or 503.
 *
 * @example
 * ```ts
 * const protect = requireApiKey(production)
 * app.get("/hello", async (c) => {
 *   const result = await protect(c.req.raw)
 *   return result.allowed ? c.text(`Hello, ${result.consumer.name}`, 200, result.headers) : result.response
 * })
 * ```
 *
 * With `charge: "success"` or `reserve`, pass your response to `finish`, also if it is an error. If your code may throw, `withApiKey`
 * is simpler.
 *
 * @example
 * ```ts
 * const protect = requireApiKey(production, { metering, charge: "success" })
 * app.get("/hello", async (c) => {
 *   const result = await protect(c.req.raw)
 *   return result.allowed ? result.finish(c.text(`Hello, ${result.consumer.name}`)) : result.response
 * })
 * ```
 */
export const requireApiKey = <
  OnStoreUnavailable extends Policy = "deny",
  HostRequest extends Request = Request,
  ChargeOn extends Charge = "request",
  Reserved extends Reserve = undefined
>(
  keyBucket: AuthorizingKeyBucket,
  options?: PolicyOptions<OnStoreUnavailable, HostRequest> & {
    readonly charge?: ChargeOn | undefined
  } & ReserveOptions<Reserved>
): ((
  request: HostRequest
) => Promise<
  RequireApiKeyResult<ConsumerUnder<OnStoreUnavailable, Reserved>, Reserved extends undefined ? ChargeOn : "settle">
>) => {
  type Result = RequireApiKeyResult<
    ConsumerUnder<OnStoreUnavailable, Reserved>,
    Reserved extends undefined ? ChargeOn : "settle"
  >
  const hasFinish = (options?.charge ?? "request") !== "request" || options?.reserve !== undefined
  const check = makeCheck(keyBucket, options, requireApiKey)
  return async (request) => {
    const result = await check(request)
    if (!result.allowed) return { allowed: false, response: toProblemResponse(result) }
    const { consumer, headers } = result
    const finish = (response: Response) => finishResponse(request, response, result)
    // There is always a consumer, unless `onStoreUnavailable` is `allow`.
    return {
      allowed: true,
      consumer,
      headers,
      ...(hasFinish ? { finish } : {})
    } as Result
  }
}
