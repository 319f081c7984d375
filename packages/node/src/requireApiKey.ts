/**
 * Middleware for `node:http`, and for frameworks that call `(req, res, next)`, that requires a valid API key.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { type AuthorizingKeyBucket, getConnection } from "@tollgate/core/internal"
import {
  type AuthorizeRequest,
  makeAuthorizeRequest,
  makeLimitRequest,
  type RateLimitRouteOptions,
  type RequestConsumer,
  type RequireApiKeyOptions,
  readHeader,
  readQueryParameter,
  watchNodeResponse
} from "@tollgate/protect"

declare module "node:http" {
  interface IncomingMessage {
    /** The consumer whose API key authorized the request. `requireApiKey` sets it. */
    consumer?: RequestConsumer
  }
}

/** Calls `next` if the request is allowed, with an error if it could not be decided, and otherwise responds itself. */
export type ProtectRoute<Request extends IncomingMessage = IncomingMessage> = (
  req: Request,
  res: ServerResponse,
  next: (error?: unknown) => void
) => Promise<void>

/** Responds to requests that are refused, and passes the others on. */
const makeProtectRoute =
  <Request extends IncomingMessage>(authorizeRequest: AuthorizeRequest<Request>): ProtectRoute<Request> =>
  async (req, res, next) => {
    try {
      const result = await authorizeRequest(
        {
          header: (name) => readHeader(req.headers, name),
          query: (name) => readQueryParameter(req.url ?? "/", name),
          ip: () => req.socket.remoteAddress,
          connection: getConnection(req)
        },
        req
      )
      for (const name in result.headers) res.setHeader(name, result.headers[name] ?? "")
      if (!result.allowed) {
        res.statusCode = result.status
        return void res.end(JSON.stringify(result.problem))
      }
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
 * const protect = requireApiKey(gate.account("acme").keyBucket("production"))
 * createServer((req, res) =>
 *   protect(req, res, () => res.end(`Hello, ${req.consumer?.name}`))
 * ).listen(3000)
 * ```
 */
export const requireApiKey = <Request extends IncomingMessage = IncomingMessage>(
  keyBucket: AuthorizingKeyBucket,
  options?: RequireApiKeyOptions<Request>
): ProtectRoute<Request> => makeProtectRoute(makeAuthorizeRequest(keyBucket, options, requireApiKey))

/**
 * Middleware that limits requests without a key, for sign-ups and public routes: all requests with the same `by` share the limit.
 * Otherwise it responds with 429 or 503.
 *
 * @example
 * ```ts
 * const production = gate.account("acme").keyBucket("production")
 * const limit = rateLimit(production, { by: (req) => req.socket.remoteAddress, limit: 5, per: "minute" })
 * createServer((req, res) => limit(req, res, () => res.end("ok"))).listen(3000)
 * ```
 */
export const rateLimit = <Request extends IncomingMessage = IncomingMessage>(
  keyBucket: AuthorizingKeyBucket,
  options: RateLimitRouteOptions<Request>
): ProtectRoute<Request> => makeProtectRoute(makeLimitRequest(keyBucket, options, rateLimit))
