import type { IncomingHttpHeaders, ServerResponse } from "node:http"
import type { Http2ServerResponse } from "node:http2"
import {
  type AuthorizingKeyBucket,
  getConnection,
  makeAuthorizeRequest,
  type RequestConsumer,
  type RequireApiKeyOptions,
  readHeader,
  watchNodeResponse
} from "@tollgate/core/internal"
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
): ApiKeyHook => {
  const authorizeRequest = makeAuthorizeRequest(keyBucket, options)
  return async (request, reply) => {
    const result = await authorizeRequest(
      {
        header: (name) => readHeader(request.headers, name),
        query: (name) => (request.query as Readonly<Record<string, unknown>>)[name],
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
}
