/**
 * Tollgate for Koa: the HTTP API as middleware, and middleware that requires a valid API key.
 */
import type { Tollgate } from "@tollgate/core"
import { type AuthorizingKeyBucket, getConnection } from "@tollgate/core/internal"
import { type NodeHandlerOptions, toNodeHandler } from "@tollgate/node"
import {
  type AuthorizeRequest,
  makeAuthorizeRequest,
  makeLimitRequest,
  type RateLimitRouteOptions,
  type RequestConsumer,
  type RequireApiKeyOptions,
  type SettlingConsumer,
  watchNodeResponse
} from "@tollgate/protect"
import type { Context, Middleware } from "koa"

export type {
  RateLimitRouteOptions,
  RequestConsumer,
  RequireApiKeyOptions,
  SettleRequest,
  SettlingConsumer
} from "@tollgate/protect"

/** The part of `ctx.state` that `requireApiKey` sets. */
export interface ConsumerState {
  /** The consumer whose API key authorized the request. */
  consumer: RequestConsumer
}

/** The part of `ctx.state` that `requireApiKey` with `reserve` sets. */
export interface SettlingState {
  /** The consumer whose API key authorized the request. */
  consumer: SettlingConsumer
}

/** `context` receives Koa's context, which is also what `authenticate` receives by default. */
export type KoaHandlerOptions = NodeHandlerOptions<Context>

/**
 * Middleware that serves the HTTP API: `app.use(tollgate(gate))`, or at a path:
 * `app.use(tollgate(gate, { prefix: "/api/dev" }))`. It passes on other requests, except those below `/api/dev/v1`.
 */
export const tollgate = (gate: Tollgate, options?: KoaHandlerOptions): Middleware => {
  const handle = toNodeHandler(gate, options)
  return async (ctx, next) => {
    let isHandled = true
    // Koa body parsers put the parsed body on `ctx.request`; toNodeHandler looks for it on Node's request.
    const { body } = ctx.request as { readonly body?: unknown }
    if (body !== undefined) Object.assign(ctx.req, { body })
    const passOn = (error?: unknown) => {
      if (error !== undefined) throw error
      isHandled = false
    }
    await handle(ctx.req, ctx.res, passOn, ctx)
    if (isHandled) ctx.respond = false
    else await next()
  }
}

/** Responds to requests that are refused, and passes the others on. */
const makeMiddleware =
  (authorizeRequest: AuthorizeRequest<Context>): Middleware<Partial<ConsumerState>> =>
  async (ctx, next) => {
    const result = await authorizeRequest(
      {
        header: (name) => ctx.get(name) || undefined,
        query: (name) => ctx.query[name],
        ip: () => ctx.ip,
        // Routers for Koa set it.
        route: () => (typeof ctx["_matchedRoute"] === "string" ? `${ctx.method} ${ctx["_matchedRoute"]}` : undefined),
        connection: getConnection(ctx.req)
      },
      ctx
    )
    if (!result.allowed) {
      ctx.status = result.status
      ctx.body = JSON.stringify(result.problem)
      ctx.set(result.headers)
      return
    }
    ctx.set(result.headers)
    // Koa responds to an error that is thrown, so the response tells of it.
    if (result.reportOutcome !== undefined) watchNodeResponse(ctx.res, result.reportOutcome)
    if (result.consumer !== undefined) ctx.state.consumer = result.consumer
    await next()
  }

/**
 * Middleware that requires a valid API key, and with options its scopes, rate limits and quotas. Otherwise it responds
 * with 400, 401, 403, 429 or 503.
 *
 * @example
 * ```ts
 * const production = gate.account("acme").keyBucket("production")
 * router.get("/hello", requireApiKey(production), (ctx) => {
 *   ctx.body = `Hello, ${ctx.state.consumer.name}`
 * })
 * ```
 */
export function requireApiKey(
  keyBucket: AuthorizingKeyBucket,
  options: RequireApiKeyOptions<Context> & {
    readonly onStoreUnavailable?: "deny" | undefined
    readonly reserve: NonNullable<RequireApiKeyOptions<Context>["reserve"]>
  }
): Middleware<SettlingState>
export function requireApiKey(
  keyBucket: AuthorizingKeyBucket,
  options?: RequireApiKeyOptions<Context> & { readonly onStoreUnavailable?: "deny" | undefined }
): Middleware<ConsumerState>
/** With `onStoreUnavailable: "allow"`, a request may have no consumer. */
export function requireApiKey(
  keyBucket: AuthorizingKeyBucket,
  options?: RequireApiKeyOptions<Context>
): Middleware<Partial<ConsumerState>>
export function requireApiKey(
  keyBucket: AuthorizingKeyBucket,
  options?: RequireApiKeyOptions<Context>
): Middleware<Partial<ConsumerState>> {
  return makeMiddleware(makeAuthorizeRequest(keyBucket, options, requireApiKey))
}

/**
 * Middleware that limits requests without a key, for sign-ups and public routes: all requests with the same `by` share the limit.
 * Otherwise it responds with 429 or 503.
 *
 * @example
 * ```ts
 * const production = gate.account("acme").keyBucket("production")
 * router.post("/sign-up", rateLimit(production, { by: (ctx) => ctx.ip, limit: 5, per: "minute" }), (ctx) => {
 *   ctx.status = 202
 * })
 * ```
 */
export const rateLimit = (keyBucket: AuthorizingKeyBucket, options: RateLimitRouteOptions<Context>): Middleware =>
  makeMiddleware(makeLimitRequest(keyBucket, options, rateLimit))
