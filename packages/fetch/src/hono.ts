/**
 * `@tollgate/fetch/hono`: middleware of Hono that requires a valid API key. The HTTP API needs no binding: mount
 * `gate.handler`.
 */
import type { AuthorizingKeyBucket } from "@tollgate/core/internal"
import {
  type AuthorizeRequest,
  makeAuthorizeRequest,
  makeLimitRequest,
  type RateLimitRouteOptions,
  type RequireApiKeyOptions
} from "@tollgate/protect"
import type { Context, MiddlewareHandler } from "hono"
import { finishResponse, reportAbort } from "./finishResponse.ts"
import {
  type ConsumerUnder,
  type Policy,
  type PolicyOptions,
  type Reserve,
  type ReserveOptions,
  toProblemResponse,
  toRequestLike
} from "./requireApiKey.ts"

export type {
  RateLimitRouteOptions,
  RequestConsumer,
  RequireApiKeyOptions,
  SettleRequest,
  SettlingConsumer
} from "@tollgate/protect"

/** What `requireApiKey` sets: `c.var.consumer`. */
export interface ConsumerVariables<Consumer> {
  readonly Variables: {
    /** The consumer whose API key authorized the request. */
    readonly consumer: Consumer
  }
}

const makeMiddleware =
  (authorizeRequest: AuthorizeRequest<Context>): MiddlewareHandler =>
  async (c, next) => {
    const request = c.req.raw
    const like = { ...toRequestLike(request), route: () => `${c.req.method} ${c.req.routePath}` }
    const result = reportAbort(request, await authorizeRequest(like, c))
    if (!result.allowed) return toProblemResponse(result)
    if (result.consumer !== undefined) c.set("consumer", result.consumer)
    // Hono turns what a handler throws into a response.
    await next()
    const response = finishResponse(request, c.res, result)
    if (response !== c.res) c.res = response
    return undefined
  }

/**
 * Middleware that requires a valid API key, and with options its scopes, rate limits and quotas. Otherwise it responds
 * with 400, 401, 403, 429 or 503. The routes that are chained to it know the type of `c.var.consumer`.
 *
 * @example
 * ```ts
 * app.get("/hello", requireApiKey(production), (c) => c.text(`Hello, ${c.var.consumer.name}`))
 * ```
 */
export const requireApiKey = <OnStoreUnavailable extends Policy = "deny", Reserved extends Reserve = undefined>(
  keyBucket: AuthorizingKeyBucket,
  options?: PolicyOptions<OnStoreUnavailable, Context> & ReserveOptions<Reserved>
): MiddlewareHandler<ConsumerVariables<ConsumerUnder<OnStoreUnavailable, Reserved>>> =>
  makeMiddleware(makeAuthorizeRequest(keyBucket, options as RequireApiKeyOptions<Context> | undefined, requireApiKey))

/**
 * Middleware that limits requests without a key, for sign-ups and public routes: all requests with the same `by` share the
 * limit. Otherwise it responds with 429 or 503.
 *
 * @example
 * ```ts
 * app.post("/sign-up", rateLimit(production, { by: (c) => c.req.header("x-real-ip"), limit: 5, per: "minute" }), (c) => c.text("ok"))
 * ```
 */
export const rateLimit = (
  keyBucket: AuthorizingKeyBucket,
  options: RateLimitRouteOptions<Context>
): MiddlewareHandler => makeMiddleware(makeLimitRequest(keyBucket, options, rateLimit))
