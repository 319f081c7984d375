/**
 * Tollgate in Express: the whole interface as router middleware, and routes protected by an API key.
 */
import type { Tollgate } from "@tollgate/core"
import { makeAuthorizeRequest, type RequestConsumer, type RequireApiKeyOptions, toNodeHandler } from "@tollgate/node"
import type { RequestHandler } from "express"

export type { RequestConsumer, RequireApiKeyOptions } from "@tollgate/node"

declare global {
  namespace Express {
    interface Request {
      /** Who is calling, behind `requireApiKey`. */
      consumer?: RequestConsumer
    }
  }
}

/** The whole interface, mounted at any path: `app.use("/api/dev", tollgate(gate))`. Other paths are passed on. */
export const tollgate = (gate: Tollgate): RequestHandler => toNodeHandler(gate)

/**
 * Lets a request through that brings a valid API key, and counts its use; answers 401, 403 or 429 otherwise.
 *
 * @example
 * ```ts
 * app.get("/hello", requireApiKey(gate, { account: "acme", bucket: "production" }), (req, res) => {
 *   res.send(`Hello, ${req.consumer?.sub}`)
 * })
 * ```
 */
export const requireApiKey = (gate: Tollgate, options: RequireApiKeyOptions): RequestHandler => {
  const admit = makeAuthorizeRequest(gate, options)
  return async (req, res, next) => {
    try {
      const admission = await admit({ header: (name) => req.get(name), query: (name) => req.query[name] })
      res.set(admission.headers)
      if ("problem" in admission) return void res.status(admission.status).send(JSON.stringify(admission.problem))
      req.consumer = admission.consumer
    } catch (error) {
      return next(error)
    }
    next()
  }
}
