/**
 * Tollgate for Express: the HTTP API as middleware, and middleware that requires a valid API key.
 */
import type { Tollgate } from "@tollgate/core"
import { type AuthorizingKeyBucket, getConnection } from "@tollgate/core/internal"
import { toNodeHandler } from "@tollgate/node"
import {
  type AuthorizeRequest,
  makeAuthorizeRequest,
  makeLimitRequest,
  type RateLimitRouteOptions,
  type RequestConsumer,
  type RequireApiKeyOptions,
  watchNodeResponse
} from "@tollgate/protect"
import type { Request, RequestHandler } from "express"

export type {
  RateLimitRouteOptions,
  RequestConsumer,
  RequireApiKeyOptions,
  SettleRequest,
  SettlingConsumer
} from "@tollgate/protect"

declare global {
  namespace Express {
    interface Request {
      /** The consumer whose API key authorized the request. `requireApiKey` sets it. */
      consumer?: RequestConsumer
    }
  }
}

/** The options of `tollgate`. */
export interface ExpressHandlerOptions {
  /** Returns what `authenticate` receives as its second argument. Default: the Express request itself. */
  readonly context?: ((req: Request) => unknown) | undefined
  /**
   * Milliseconds after which a connection, or a stream of HTTP/2, is closed whose client reads nothing of a response.
   * Default: 30,000.
   */
  readonly sendTimeout?: number | undefined
}

/**
 * Middleware that serves the HTTP API: `app.use("/api/dev", tollgate(gate))`. It passes on other requests, except those
 * below `/api/dev/v1`.
 */
export const tollgate = (gate: Tollgate, options?: ExpressHandlerOptions): RequestHandler =>
  toNodeHandler<Request>(gate, options)

/** The path of the route, with its parameters. There is none if the middleware is used for several routes. */
const describeRoute = ({ method, baseUrl, route }: Request): string | undefined =>
  typeof route?.path === "string" ? `${method} ${baseUrl}${route.path}` : undefined

/** Responds to requests that are refused, and passes the others on. */
const makeMiddleware =
  (authorizeRequest: AuthorizeRequest<Request>): RequestHandler =>
  async (req, res, next) => {
    try {
      const result = await authorizeRequest(
        {
          header: (name) => req.get(name),
          query: (name) => req.query[name],
          ip: () => req.ip,
          route: () => describeRoute(req),
          connection: getConnection(req)
        },
        req
      )
      res.set(result.headers)
      if (!result.allowed) return void res.status(result.status).send(JSON.stringify(result.problem))
      if (result.reportOutcome !== undefined) watchNodeResponse(res, result.reportOutcome)
      if (result.consumer !== undefined) req.consumer = result.consumer
    } catch (error) {
      return next(error)
    }
    next()
  }

/**
 * Middleware that requires a valid API key, and with options its scopes, rate limits and quotas. Otherwise it responds
 * with 400, 401, 403, 429 or 503.
 *
 * @example
 * ```ts
 * const production = gate.account("acme").keyBucket("production")
 * app.get("/hello", requireApiKey(production), (req, res) => {
 *   res.send(`Hello, ${req.consumer?.name}`)
 * })
 * ```
 */
export const requireApiKey = (
  keyBucket: AuthorizingKeyBucket,
  options?: RequireApiKeyOptions<Request>
): RequestHandler => makeMiddleware(makeAuthorizeRequest(keyBucket, options, requireApiKey))

/**
 * Middleware that limits requests without a key, for sign-ups and public routes: all requests with the same `by` share the limit.
 * Otherwise it responds with 429 or 503.
 *
 * @example
 * ```ts
 * const production = gate.account("acme").keyBucket("production")
 * app.post("/sign-up", rateLimit(production, { by: (req) => req.ip, limit: 5, per: "minute" }), (req, res) => {
 *   res.sendStatus(202)
 * })
 * ```
 */
export const rateLimit = (keyBucket: AuthorizingKeyBucket, options: RateLimitRouteOptions<Request>): RequestHandler =>
  makeMiddleware(makeLimitRequest(keyBucket, options, rateLimit))
