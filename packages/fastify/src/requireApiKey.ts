import type { IncomingHttpHeaders, ServerResponse } from "node:http"
import type { Http2ServerResponse } from "node:http2"
import { type AuthorizingKeyBucket, getConnection } from "@tollgate/core/internal"
import {
  type AuthorizeRequest,
  makeAuthorizeRequest,
  makeLimitRequest,
  type RateLimitRouteOptions,
  type RequestConsumer,
  type RequireApiKeyOptions,
  readHeader,
  watchNodeResponse
} from "@tollgate/protect"
import type { FastifyRequest } from "fastify"

declare module "fastify" {
  interface FastifyRequest {
    /** The consumer whose API key authorized the request. `requireApiKey` sets it. */
    consumer?: RequestConsumer | undefined
  }
}

/** The parts of Fastify's request and reply that the hook uses, which are the same for HTTP/1 and HTTP/2. */
interface ProtectedRequest {
  readonly headers: IncomingHttpHeaders
  readonly query: unknown
  readonly ip: string
  readonly method: string
  readonly routeOptions: { readonly url?: string | undefined }
  readonly raw: { readonly socket: object }
  consumer?: RequestConsumer | undefined
}
interface ProtectedReply {
  readonly raw: ServerResponse | Http2ServerResponse
  code(status: number): unknown
  headers(headers: Readonly<Record<string, string>>): unknown
  send(payload: string): unknown
}

/** A hook for `onRequest`, `preValidation` or `preHandler`. */
export type ApiKeyHook = (request: ProtectedRequest, reply: ProtectedReply) => Promise<unknown>

/** Responds to requests that are refused, and passes the others on. */
const makeHook =
  (authorizeRequest: AuthorizeRequest<FastifyRequest>): ApiKeyHook =>
  async (request, reply) => {
    const result = await authorizeRequest(
      {
        header: (name) => readHeader(request.headers, name),
        query: (name) => (request.query as Readonly<Record<string, unknown>>)[name],
        ip: () => request.ip,
        route: () => request.routeOptions.url && `${request.method} ${request.routeOptions.url}`,
        connection: getConnection(request.raw)
      },
      request as FastifyRequest
    )
    reply.headers(result.headers)
    if (!result.allowed) {
      reply.code(result.status)
      // Fastify ends the request if a hook returns the reply.
      return reply.send(JSON.stringify(result.problem))
    }
    if (result.reportOutcome !== undefined) watchNodeResponse(reply.raw, result.reportOutcome)
    if (result.consumer !== undefined) request.consumer = result.consumer
    return undefined
  }

/**
 * A hook that requires a valid API key, and with options its scopes, rate limits and quotas. Otherwise it responds with
 * 400, 401, 403, 429 or 503. As `onRequest` it runs before Fastify reads the body, as `preHandler` after Fastify has validated the request.
 *
 * @example
 * ```ts
 * const production = gate.account("acme").keyBucket("production")
 * app.get("/hello", { onRequest: requireApiKey(production) }, async (request) => `Hello, ${request.consumer?.name}`)
 * ```
 */
export const requireApiKey = (
  keyBucket: AuthorizingKeyBucket,
  options?: RequireApiKeyOptions<FastifyRequest>
): ApiKeyHook => makeHook(makeAuthorizeRequest(keyBucket, options, requireApiKey))

/**
 * A hook that limits requests without a key, for sign-ups and public routes: all requests with the same `by` share the limit.
 * Otherwise it responds with 429 or 503.
 *
 * @example
 * ```ts
 * const production = gate.account("acme").keyBucket("production")
 * app.post("/sign-up", { onRequest: rateLimit(production, { by: ({ ip }) => ip, limit: 5, per: "minute" }) }, async () => "ok")
 * ```
 */
export const rateLimit = (
  keyBucket: AuthorizingKeyBucket,
  options: RateLimitRouteOptions<FastifyRequest>
): ApiKeyHook => makeHook(makeLimitRequest(keyBucket, options, rateLimit))
