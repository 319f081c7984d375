/**
 * Tollgate for Express: the HTTP API as middleware, and middleware that requires a valid API key
 * and, with `metering`, counts its use.
 */
import type { Tollgate } from "@tollgate/core"
import { makeAuthorizeRequest, type RequestConsumer, type RequireApiKeyOptions, toNodeHandler } from "@tollgate/node"
import type { RequestHandler } from "express"

export type { RequestConsumer, RequireApiKeyOptions } from "@tollgate/node"

declare global {
  namespace Express {
    interface Request {
      /** The consumer whose API key authorized the request. `requireApiKey` sets it. */
      consumer?: RequestConsumer
    }
  }
}

/** Middleware that serves the HTTP API: `app.use("/api/dev", tollgate(gate))`. It passes on other requests. */
export const tollgate = (gate: Tollgate): RequestHandler => toNodeHandler(gate)

/**
 * Middleware that requires a valid API key and counts its use. Otherwise it responds with 401, 403, 429 or 503.
 *
 * @example
 * ```ts
 * app.get("/hello", requireApiKey(gate, { account: "acme", bucket: "production" }), (req, res) => {
 *   res.send(`Hello, ${req.consumer?.name}`)
 * })
 * ```
 */
export const requireApiKey = (gate: Tollgate, options: RequireApiKeyOptions): RequestHandler => {
  const authorizeRequest = makeAuthorizeRequest(gate, options)
  return async (req, res, next) => {
    try {
      const result = await authorizeRequest({ header: (name) => req.get(name), query: (name) => req.query[name] })
      res.set(result.headers)
      if ("problem" in result) return void res.status(result.status).send(JSON.stringify(result.problem))
      req.consumer = result.consumer
    } catch (error) {
      return next(error)
    }
    next()
  }
}
