/**
 * Node's requests and responses ↔ the interface, or any web handler: streamed both ways, aborted when the client leaves.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { fromWebResponse, type TransportRequest, type TransportResponse } from "@tollgate/core"
import { endEarly } from "./endEarly.ts"
import { http2Stream } from "./http2Stream.ts"
import { stopReading } from "./nodeBody.ts"
import { fromNodeRequest } from "./nodeRequest.ts"

export interface HandlerSource {
  readonly handler: (request: Request) => Promise<Response>
  /** The same without web objects, which cost more than many an answer; called instead, where there is one. */
  readonly dispatch?: (asked: TransportRequest) => Promise<TransportResponse>
  /** Whether a request is for it, by its path and its `Host` header. */
  readonly matches: (path: string, host: string) => boolean
  /** Whether a host serves sites and nothing else: then the prefix does not apply. */
  readonly isSitesHost?: ((host: string) => boolean) | undefined
}

export interface NodeHandlerOptions {
  /** The path below which the interface is mounted, where the host has not taken it off already. */
  readonly prefix?: string
}

type Next = (error?: unknown) => void
export type NodeHandler = (req: IncomingMessage, res: ServerResponse, next?: Next) => Promise<void>

/** The path and query below the prefix; none if the request is for elsewhere. */
const getPath = (req: IncomingMessage, prefix: string): string | undefined => {
  const url = req.url ?? "/"
  // A proxy may send the address whole.
  const path = /^https?:\/\//i.test(url) ? url.replace(/^https?:\/\/[^/?]*/i, "") || "/" : url
  if (!path.startsWith("/")) return undefined
  if (prefix === "") return path
  const below = path.startsWith(prefix) ? path.slice(prefix.length) : undefined
  if (below === "") return "/"
  return below?.startsWith("/") === true ? below : below?.startsWith("?") === true ? `/${below}` : undefined
}

/** The host that was asked for. Over HTTP/2 it is a header of another name. */
const getHost = ({ headers }: IncomingMessage): string => {
  const { ":authority": authority, host = "" } = headers
  return typeof authority === "string" ? authority : host
}

/** Where the interface is mounted; Express tells what it has taken off the path. */
const getBasePath = (req: IncomingMessage, prefix: string): string => {
  const { baseUrl } = req as { readonly baseUrl?: unknown }
  return typeof baseUrl === "string" ? baseUrl + prefix : prefix
}

/** Asks a web handler. */
const callWebHandler = async (
  handler: HandlerSource["handler"],
  asked: TransportRequest
): Promise<TransportResponse> => {
  const answer = fromWebResponse(await handler(asked.toWebRequest()))
  return asked.method === "HEAD" ? { ...answer, body: undefined } : answer
}

/** What is small is read whole: a stream for it would cost more than the answer, and could fail in the middle of it. */
const bufferSmallBody = async (answer: TransportResponse): Promise<TransportResponse> => {
  const isSmall = Number(answer.headers["content-length"] ?? Number.NaN) <= 64 * 1024
  if (!isSmall || !(answer.body instanceof ReadableStream)) return answer
  return { ...answer, body: new Uint8Array(await new Response(answer.body).arrayBuffer()) }
}

/** Puts an answer's status and headers down, and gives a way to take them back. */
const writeHead = ({ status, headers }: TransportResponse, res: ServerResponse): (() => void) => {
  res.statusCode = status
  for (const name in headers) res.setHeader(name, headers[name] ?? "")
  return () => {
    for (const name in headers) res.removeHeader(name)
  }
}

const internalServerError: TransportResponse = { status: 500, headers: { "content-length": "0" }, body: undefined }

const send = async (answer: TransportResponse, req: IncomingMessage, res: ServerResponse): Promise<void> => {
  const { status, headers, body } = answer
  const isEarly = !req.complete
  if (!isEarly && !(body instanceof ReadableStream)) {
    return void res.writeHead(status, headers as Record<string, string | Array<string>>).end(body)
  }
  const undoHead = writeHead(answer, res)
  // What was not read of the request's body would be taken for the next request.
  if (isEarly && req.httpVersionMajor === 1) res.setHeader("connection", "close")
  try {
    if (body instanceof ReadableStream) await pipeline(Readable.fromWeb(body as never), res, { end: false })
    else if (body !== undefined) res.write(body)
  } catch (error) {
    if (!res.headersSent) undoHead()
    throw error
  }
  res.flushHeaders()
  if (isEarly) await endEarly(req, res)
  else res.end()
}

/**
 * A request listener for `node:http`, and middleware for whatever calls `(req, res, next)`. With `next`, paths that
 * are not the interface's are passed on.
 *
 * @example
 * ```ts
 * createServer(toNodeHandler(gate)).listen(3000)
 * app.use("/api/dev", toNodeHandler(gate))
 * ```
 */
export const toNodeHandler = (gate: HandlerSource, { prefix = "" }: NodeHandlerOptions = {}): NodeHandler => {
  const { handler, dispatch = (asked: TransportRequest) => callWebHandler(handler, asked), matches, isSitesHost } = gate
  return async (req, res, next) => {
    const host = getHost(req)
    const below = getPath(req, prefix)
    const isOutside = below === undefined && isSitesHost?.(host) === true
    const path = isOutside ? getPath(req, "") : below
    if (next !== undefined && (path === undefined || !matches(path, host))) return next()
    const stream = http2Stream(req)
    // The client may have left while the host was busy.
    if (res.destroyed || stream?.closed === true || (req.destroyed && !req.readableEnded)) return
    let isGone = false
    let abort: AbortController | undefined
    const leave = () => {
      if (res.writableEnded) return
      isGone = true
      abort?.abort()
    }
    const signal = () => {
      abort ??= new AbortController()
      if (isGone) abort.abort()
      return abort.signal
    }
    // Over HTTP/2 a response to HEAD does not tell when its stream closes.
    const connection = stream ?? res
    connection.once("close", leave)
    try {
      const answer = await dispatch(
        fromNodeRequest(req, path ?? "/", getBasePath(req, isOutside ? "" : prefix), signal)
      )
      if (!isGone) await send(await bufferSmallBody(answer), req, res)
    } catch (error) {
      if (isGone || res.destroyed) return
      // Without an error, an HTTP/2 stream is reset as if the response were complete.
      if (res.headersSent) return void res.destroy(stream && new Error("The response was cut off"))
      if (next === undefined) return await send(internalServerError, req, res)
      // The host responds: a body that nobody goes on reading would hold up its connection.
      if (req.readableDidRead) {
        stopReading(req)
        req.resume()
      }
      next(error)
    } finally {
      connection.off("close", leave)
    }
  }
}
