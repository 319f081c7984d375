/**
 * Runs Tollgate, or any web handler, as a Node request listener. Request and response bodies are streamed.
 *
 * When the client disconnects before the response is complete, `watchForDisconnect` aborts the request's signal.
 * Tollgate then interrupts the fiber that handles the request, and no response is sent.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import {
  fromWebResponse,
  getConnection,
  Options,
  RequestBatches,
  type TransportRequest,
  type TransportResponse
} from "@tollgate/core/internal"
import { isHandled } from "@tollgate/protect"
import { endWithIncompleteRequest } from "./endWithIncompleteRequest.ts"
import { http2Stream } from "./http2Stream.ts"
import { makeBusyResponse } from "./makeBusyResponse.ts"
import { stopReading } from "./nodeBody.ts"
import { fromNodeRequest } from "./nodeRequest.ts"
import { pieceBytes, watchReading } from "./watchReading.ts"

/** What `toNodeHandler` serves: a Tollgate, or any object with a web handler. */
export interface HandlerSource {
  readonly handler: (request: Request, context?: unknown) => Promise<Response>
  /** Does the same as `handler` without creating web objects, which is faster. Used instead of `handler` if present. */
  readonly dispatch?: (request: TransportRequest) => Promise<TransportResponse>
  /** Whether Tollgate handles a request with this path and `Host` header. */
  readonly matches: (path: string, host: string) => boolean
  /** Whether this host serves nothing but a module, such as deployed sites. The prefix does not apply to such hosts. */
  readonly ownsHost?: ((host: string) => boolean) | undefined
}

/** The options of `toNodeHandler`. */
export interface NodeHandlerOptions<HostRequest = IncomingMessage> {
  /** The path at which the HTTP API is mounted, such as `/api/dev`. Omit it if the framework strips the path itself. */
  readonly prefix?: string | undefined
  /** Returns what `authenticate` receives as its second argument. Default: the request itself. */
  readonly context?: ((req: HostRequest) => unknown) | undefined
  /**
   * Milliseconds after which a connection, or a stream of HTTP/2, is closed whose client reads nothing of a response.
   * Default: 30,000.
   */
  readonly sendTimeout?: number | undefined
}

const defaultSendTimeout = 30_000

const nodeHandlerOptions = Options.struct<NodeHandlerOptions<unknown>>()({
  prefix: Options.optional(
    Options.string("must be a path such as /api/dev, without a slash at its end", (path) => /^(\/.*[^/])?$/.test(path))
  ),
  context: Options.optional(Options.callback<(req: unknown) => unknown>("must be a function that takes the request")),
  sendTimeout: Options.optional(Options.timeout())
})

const handlerSource = Options.value(
  (gate): gate is HandlerSource => Options.hasMethods(gate, "handler", "matches"),
  "must be the result of `await createTollgate(…)`"
)

type Next = (error?: unknown) => void
/** A binding passes the request of its framework as `hostRequest`, for `context`. Default: the Node request. */
export type NodeHandler<HostRequest = IncomingMessage> = (
  req: IncomingMessage,
  res: ServerResponse,
  next?: Next,
  hostRequest?: HostRequest
) => Promise<void>

/** The path and query below the prefix; `undefined` if the request is not below the prefix. */
const getPath = (req: IncomingMessage, prefix: string): string | undefined => {
  const url = req.url ?? "/"
  // Proxies may send an absolute URL instead of a path.
  const path = /^https?:\/\//i.test(url) ? url.replace(/^https?:\/\/[^/?]*/i, "") || "/" : url
  if (!path.startsWith("/")) return undefined
  if (prefix === "") return path
  const below = path.startsWith(prefix) ? path.slice(prefix.length) : undefined
  if (below === "") return "/"
  return below?.startsWith("/") === true ? below : below?.startsWith("?") === true ? `/${below}` : undefined
}

/** HTTP/2 sends the host as `:authority`. */
const getHost = ({ headers }: IncomingMessage): string => {
  const { ":authority": authority, host = "" } = headers
  return typeof authority === "string" ? authority : host
}

/** The path at which the HTTP API is mounted. Express puts the part that it has stripped into `req.baseUrl`. */
const getBasePath = (req: IncomingMessage, prefix: string): string => {
  const { baseUrl } = req as { readonly baseUrl?: unknown }
  return typeof baseUrl === "string" ? baseUrl + prefix : prefix
}

const callWebHandler = async (
  handler: HandlerSource["handler"],
  request: TransportRequest
): Promise<TransportResponse> => {
  const response = fromWebResponse(await handler(request.toWebRequest(), request.context))
  return request.method === "HEAD" ? { ...response, body: undefined } : response
}

/**
 * Reads a small body into memory. A stream would cost more than the rest of the response, and could fail after the
 * headers have been sent.
 */
const bufferSmallBody = async (response: TransportResponse): Promise<TransportResponse> => {
  const isSmall = Number(response.headers["content-length"] ?? Number.NaN) <= 64 * 1024
  if (!isSmall || !(response.body instanceof ReadableStream)) return response
  return { ...response, body: new Uint8Array(await new Response(response.body).arrayBuffer()) }
}

/** Sets the status and the headers; returns a function that removes the headers again. */
const setHead = ({ status, headers }: TransportResponse, res: ServerResponse): (() => void) => {
  res.statusCode = status
  for (const name in headers) res.setHeader(name, headers[name] ?? "")
  return () => {
    for (const name in headers) res.removeHeader(name)
  }
}

const internalServerError: TransportResponse = { status: 500, headers: { "content-length": "0" }, body: undefined }

/** The chunks of a body that is written in pieces; `undefined` if it is written at once. */
const toChunks = (body: TransportResponse["body"]): Readable | undefined => {
  if (body instanceof ReadableStream) return Readable.fromWeb(body as never)
  return body !== undefined && body.length > pieceBytes ? Readable.from([Buffer.from(body)]) : undefined
}

/** `signal` aborts when the client disconnects, which a pipeline does not always notice over HTTP/2. */
const send = async (
  response: TransportResponse,
  req: IncomingMessage,
  res: ServerResponse,
  sendTimeout: number,
  signal: () => AbortSignal
): Promise<void> => {
  const { status, headers, body } = response
  const isRequestIncomplete = !req.complete
  const chunks = toChunks(body)
  const { toPieces, watchEnd } = watchReading(req, res, sendTimeout)
  if (!isRequestIncomplete && chunks === undefined) {
    res.writeHead(status, headers as Record<string, string | Array<string>>).end(body)
    return watchEnd()
  }
  const removeHeaders = setHead(response, res)
  // On a kept-alive connection, the unread rest of the request body would be parsed as the next request.
  if (isRequestIncomplete && req.httpVersionMajor === 1) res.setHeader("connection", "close")
  try {
    if (chunks !== undefined) await pipeline(chunks, toPieces, res, { end: false, signal: signal() })
    else if (body !== undefined) res.write(body)
  } catch (error) {
    if (!res.headersSent) removeHeaders()
    throw error
  }
  res.flushHeaders()
  if (isRequestIncomplete) await endWithIncompleteRequest(req, res)
  else res.end()
  watchEnd()
}

/** Whether the client disconnected before the handler was called, for example while other middleware ran. */
const hasDisconnected = (req: IncomingMessage, res: ServerResponse): boolean =>
  res.destroyed || http2Stream(req)?.closed === true || (req.destroyed && !req.readableEnded)

interface DisconnectWatch {
  readonly isDisconnected: () => boolean
  /** Aborts when the client disconnects. Created on first use, because most requests never need it. */
  readonly signal: () => AbortSignal
  readonly stop: () => void
}

/** Watches for the client to disconnect before the response is complete. */
const watchForDisconnect = (req: IncomingMessage, res: ServerResponse): DisconnectWatch => {
  // Over HTTP/2, the response to a HEAD request does not emit `close` when its stream closes; the stream does.
  const connection = http2Stream(req) ?? res
  let isDisconnected = false
  let controller: AbortController | undefined
  const onClose = () => {
    // `close` also follows a complete response.
    if (res.writableEnded) return
    isDisconnected = true
    controller?.abort()
  }
  connection.once("close", onClose)
  return {
    isDisconnected: () => isDisconnected,
    signal: () => {
      controller ??= new AbortController()
      if (isDisconnected) controller.abort()
      return controller.signal
    },
    stop: () => void connection.off("close", onClose)
  }
}

/**
 * A request listener for `node:http`, and middleware for frameworks that call `(req, res, next)`. With `next`, it passes
 * on requests that are not for Tollgate. Below a prefix, all of `/v1` is for Tollgate.
 *
 * @example
 * ```ts
 * createServer(toNodeHandler(gate)).listen(3000)
 * app.use("/api/dev", toNodeHandler(gate))
 * ```
 */
export const toNodeHandler = <HostRequest = IncomingMessage>(
  gate: HandlerSource,
  options?: NodeHandlerOptions<HostRequest>
): NodeHandler<HostRequest> => {
  const { handler, matches, ownsHost } = Options.decodeSync(handlerSource, gate, "gate")
  const {
    prefix = "",
    context = (req: unknown) => req,
    sendTimeout = defaultSendTimeout
  } = Options.decodeSync(nodeHandlerOptions, options)
  const batches = new RequestBatches()
  const { dispatch = (request: TransportRequest) => callWebHandler(handler, request) } = gate
  // Express would take a function of four parameters without defaults for an error handler.
  return async (req, res, next, hostRequest: unknown = req) => {
    const host = getHost(req)
    const pathBelowPrefix = getPath(req, prefix)
    const ignoresPrefix = pathBelowPrefix === undefined && ownsHost?.(host) === true
    const path = ignoresPrefix ? getPath(req, "") : pathBelowPrefix
    const basePath = getBasePath(req, ignoresPrefix ? "" : prefix)
    if (next !== undefined && (path === undefined || !isHandled({ matches }, path, host, basePath))) return next()
    if (hasDisconnected(req, res)) return
    const { isDisconnected, signal, stop } = watchForDisconnect(req, res)
    try {
      // A body that another listener reads must be read from its first chunk.
      const isServed = req.readableFlowing === true || (await batches.next(getConnection(req)))
      if (isDisconnected()) return
      if (!isServed) {
        // Those that follow on the connection are not read.
        if (req.httpVersionMajor === 1) res.setHeader("connection", "close")
        return await send(makeBusyResponse(String(req.headers["x-request-id"] ?? "")), req, res, sendTimeout, signal)
      }
      const response = await dispatch({
        ...fromNodeRequest(req, path ?? "/", basePath, signal),
        context: context(hostRequest)
      })
      if (!isDisconnected()) await send(await bufferSmallBody(response), req, res, sendTimeout, signal)
      else if (response.body instanceof ReadableStream) await response.body.cancel()
    } catch (error) {
      if (isDisconnected() || res.destroyed) return
      // Without an error, `destroy` resets an HTTP/2 stream as if the response were complete.
      if (res.headersSent) return void res.destroy(http2Stream(req) && new Error("The response body failed"))
      if (next === undefined) return await send(internalServerError, req, res, sendTimeout, signal)
      // The framework sends the response. Discard the rest of the body, which would otherwise block the connection.
      if (req.readableDidRead) {
        stopReading(req)
        req.resume()
      }
      next(error)
    } finally {
      stop()
    }
  }
}
