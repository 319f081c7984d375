/**
 * Tollgate in Koa: the whole interface as middleware, and routes protected by an API key.
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

/** What a protected route finds in `ctx.state`. */
export interface ConsumerState {
  consumer: RequestConsumer
}

/**
 * The whole interface: `app.use(tollgate(gate))`, or below a path `app.use(tollgate(gate, { prefix: "/api/dev" }))`. Other
 * paths are passed on.
 */
export const tollgate = (gate: Tollgate, options: NodeHandlerOptions = {}): Middleware => {
  const handle = toNodeHandler(gate, options)
  return async (ctx, next) => {
    let isOurs = true
    // A body parser of Koa's leaves what it read with the context, not with Node's request.
    const { body } = ctx.request as { readonly body?: unknown }
    if (body !== undefined) Object.assign(ctx.req, { body })
    await handle(ctx.req, ctx.res, (error) => {
      if (error !== undefined) throw error
      isOurs = false
    })
    if (isOurs) ctx.respond = false
    else await next()
  }
}

/**
 * Lets a request through that brings a valid API key, and counts its use; answers 401, 403 or 429 otherwise.
 *
 * @example
 * ```ts
 * router.get("/hello", requireApiKey(gate, { account: "acme", bucket: "production" }), (ctx) => {
 *   ctx.body = `Hello, ${ctx.state.consumer.sub}`
 * })
 * ```
 */
export const requireApiKey = (gate: Tollgate, options: RequireApiKeyOptions): Middleware<ConsumerState> => {
  const admit = makeAuthorizeRequest(gate, options)
  return async (ctx, next) => {
    const admission = await admit({ header: (name) => ctx.get(name) || undefined, query: (name) => ctx.query[name] })
    if ("problem" in admission) {
      ctx.status = admission.status
      ctx.body = JSON.stringify(admission.problem)
      ctx.set(admission.headers)
      return
    }
    ctx.set(admission.headers)
    ctx.state.consumer = admission.consumer
    await next()
  }
}
