import type { Tollgate } from "@tollgate/core"
import { Options } from "@tollgate/core/internal"
import { toNodeHandler } from "@tollgate/node"
import { isHandled } from "@tollgate/protect"
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify"

/** The options of `tollgate`. */
export interface FastifyHandlerOptions {
  /** Returns what `authenticate` receives as its second argument. Default: the Fastify request itself. */
  readonly context?: ((request: FastifyRequest) => unknown) | undefined
  /**
   * Milliseconds after which a connection, or a stream of HTTP/2, is closed whose client reads nothing of a response.
   * Default: 30,000.
   */
  readonly sendTimeout?: number | undefined
}

const handlerOptions = Options.struct<FastifyHandlerOptions>()({
  context: Options.optional(
    Options.callback<(request: FastifyRequest) => unknown>("must be a function that takes the request")
  ),
  sendTimeout: Options.optional(Options.timeout())
})

/** What `authenticate` receives. */
interface HostRequest {
  readonly context: unknown
}

/** HTTP/2 sends the host as `:authority`. */
const getHost = ({ headers }: FastifyRequest): string => String(headers[":authority"] ?? headers.host ?? "")

/** Hooks, such as those of CORS plugins, set headers on the reply, which Fastify does not send after `hijack`. */
const copyHeaders = (reply: FastifyReply): void => {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value)
  }
}

/**
 * A plugin that serves the HTTP API: `app.register(tollgate(gate), { prefix: "/api/dev" })`. Below the prefix, all of
 * `/v1` is Tollgate's; other requests that are not for the HTTP API get the application's 404.
 */
export const tollgate = (gate: Tollgate, options?: FastifyHandlerOptions): FastifyPluginAsync => {
  const { context = (request: FastifyRequest): unknown => request, sendTimeout } = Options.decodeSync(
    handlerOptions,
    options
  )
  // Rejects an invalid gate here, where the application passes it, rather than when Fastify loads the plugin.
  toNodeHandler(gate)
  return async (scope) => {
    const prefix = scope.prefix.replace(/\/$/, "")
    const handle = toNodeHandler<HostRequest>(gate, { prefix, context: ({ context }) => context, sendTimeout })
    // Tollgate reads the bodies itself. The parsers of the application stay as they are, because a plugin has its own.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser("*", (_request, _payload, done) => done(null))
    scope.all("/*", async (request, reply) => {
      if (!isHandled(gate, request.url.slice(prefix.length), getHost(request), prefix)) return reply.callNotFound()
      // Evaluated before `hijack`, so that Fastify handles its errors.
      const hostRequest: HostRequest = { context: context(request) }
      copyHeaders(reply)
      reply.hijack()
      return handle(request.raw, reply.raw, undefined, hostRequest)
    })
  }
}
