/**
 * Tollgate for Koa: the HTTP API as middleware, and middleware that requires a valid API key
 * and, with `metering`, counts its use.
 */
import type { Tollgate } from "@tollgate/core"
import {
  makeAuthorizeRequest,
  type NodeHandlerOptions,
  type RequestConsumer,
  type RequireApiKeyOptions,
  toNodeHandler
} from "@tollgate/node"
import type { Middleware } from "koa"

export type { RequestConsumer, RequireApiKeyOptions } from "@tollgate/node"

/** The part of `ctx.state` that `requireApiKey` sets. */
export interface ConsumerState {
  consumer: RequestConsumer
}

/**
 * Middleware that serves the HTTP API: `app.use(tollgate(gate))`, or at a path:
 * `app.use(tollgate(gate, { prefix: "/api/dev" }))`. It passes on other requests.
 */
export const tollgate = (gate: Tollgate, options?: NodeHandlerOptions): Middleware => {
  const handle = toNodeHandler(gate, options)
  return async (ctx, next) => {
    let isHandled = true
    // Koa body parsers put the parsed body on `ctx.request`; toNodeHandler looks for it on Node's request.
    const { body } = ctx.request as { readonly body?: unknown }
    if (body !== undefined) Object.assign(ctx.req, { body })
    await handle(ctx.req, ctx.res, (error) => {
      if (error !== undefined) throw error
      isHandled = false
    })
    if (isHandled) ctx.respond = false
    else await next()
  }
}

/**
 * Middleware that requires a valid API key and counts its use. Otherwise it responds with 401, 403, 429 or 503.
 *
 * @example
 * ```ts
 * router.get("/hello", requireApiKey(gate, { account: "acme", bucket: "production" }), (ctx) => {
 *   ctx.body = `Hello, ${ctx.state.consumer.name}`
 * })
 * ```
 */
export const requireApiKey = (gate: Tollgate, options: RequireApiKeyOptions): Middleware<ConsumerState> => {
  const authorizeRequest = makeAuthorizeRequest(gate, options)
  return async (ctx, next) => {
    const result = await authorizeRequest({
      header: (name) => ctx.get(name) || undefined,
      query: (name) => ctx.query[name]
    })
    if ("problem" in result) {
      ctx.status = result.status
      ctx.body = JSON.stringify(result.problem)
      ctx.set(result.headers)
      return
    }
    ctx.set(result.headers)
    ctx.state.consumer = result.consumer
    await next()
  }
}
