/**
 * Node's requests and responses ↔ a web handler: streamed both ways, aborted when the client leaves.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { abandon, bodyOf } from "./bodyOf.ts"

export interface Mountable {
  readonly handler: (request: Request) => Promise<Response>
  /** Whether a path is one of the interface's. */
  readonly owns: (path: string) => boolean
}

export interface NodeHandlerOptions {
  /** The path below which the interface is mounted, where the host has not taken it off already. */
  readonly prefix?: string
}

type Next = (error?: unknown) => void
export type NodeHandler = (req: IncomingMessage, res: ServerResponse, next?: Next) => Promise<void>

/** The path and query below the prefix; none if the request is for elsewhere. */
const pathOf = (req: IncomingMessage, prefix: string): string | undefined => {
  const url = req.url ?? "/"
  // A proxy may send the address whole.
  const path = /^https?:\/\//i.test(url) ? url.replace(/^https?:\/\/[^/?]*/i, "") || "/" : url
  if (!path.startsWith("/")) return undefined
  if (prefix === "") return path
  const below = path.startsWith(prefix) ? path.slice(prefix.length) : undefined
  if (below === "") return "/"
  return below?.startsWith("/") === true ? below : below?.startsWith("?") === true ? `/${below}` : undefined
}

/** An upload that a body parser of the host has taken apart: what was sent is gone. */
const takenApart = (): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start: (controller) => {
      const error = new Error("a body parser in front of Tollgate has taken it apart; mount Tollgate before the parser")
      error.name = "TakenApart"
      controller.error(error)
    }
  })

/** What a body parser of the host has left, as it was sent, or nearly. */
const parsedBody = (req: IncomingMessage, path: string): string | Buffer | ReadableStream<Uint8Array> | undefined => {
  const { body } = req as { readonly body?: unknown }
  if (body === undefined || !req.readableEnded) return undefined
  if (Buffer.isBuffer(body)) return body
  if (path.startsWith("/v1/uploads/")) return takenApart()
  return typeof body === "string" ? body : JSON.stringify(body)
}

/** Methods that no web request can have are answered like any other that there is not. */
const methodOf = ({ method = "GET" }: IncomingMessage): string =>
  /^(connect|trace|track)$/i.test(method) ? "UNKNOWN" : method

const headersOf = (req: IncomingMessage, isParsed: boolean): Headers => {
  const headers = new Headers()
  for (let index = 0; index < req.rawHeaders.length; index += 2) {
    const name = req.rawHeaders[index] ?? ""
    // HTTP/2 keeps the method and the path among the headers.
    if (!name.startsWith(":")) headers.append(name, req.rawHeaders[index + 1] ?? "")
    else if (name === ":authority") headers.set("host", req.rawHeaders[index + 1] ?? "")
  }
  if (isParsed) for (const name of ["content-length", "transfer-encoding", "content-encoding"]) headers.delete(name)
  return headers
}

const requestFrom = (req: IncomingMessage, path: string, signal: AbortSignal): Request => {
  const method = methodOf(req)
  const parsed = parsedBody(req, path)
  const init = { method, headers: headersOf(req, parsed !== undefined), signal }
  if (method === "GET" || method === "HEAD") return new Request(`http://localhost${path}`, init)
  const body = parsed ?? (req.readableEnded ? "" : bodyOf(req))
  return new Request(`http://localhost${path}`, { ...init, body, duplex: "half" } as RequestInit)
}

/** How long a sender that was answered early may go on. */
const lingering = 2_000

/** Somebody who is still sending reads the answer only if the connection lives until then. */
const drained = (req: IncomingMessage): Promise<void> =>
  new Promise((resolve) => {
    if (req.complete || req.destroyed) return resolve()
    abandon(req)
    const timer = setTimeout(resolve, lingering)
    const done = () => {
      clearTimeout(timer)
      resolve()
    }
    req.once("end", done).once("close", done).on("error", done).resume()
  })

/** What is sent at once: a stream for each of them would cost more than the answer. */
const isSmall = ({ headers }: Response): boolean => Number(headers.get("content-length") ?? Number.NaN) <= 64 * 1024

/** Puts an answer's status and headers down, and gives a way to take them back. */
const putHead = (response: Response, res: ServerResponse): (() => void) => {
  const names = new Set([...response.headers.keys()])
  res.statusCode = response.status
  for (const [name, value] of response.headers) if (name !== "set-cookie") res.setHeader(name, value)
  const cookies = response.headers.getSetCookie()
  if (cookies.length > 0) res.setHeader("set-cookie", cookies)
  return () => {
    for (const name of names) res.removeHeader(name)
  }
}

/** Over HTTP/2 nothing lingers: whoever still sends is told to stop. */
const stopSending = (req: IncomingMessage): void => {
  const { stream } = req as { readonly stream?: { readonly close?: (code: number) => void } }
  stream?.close?.(0)
}

const send = async (response: Response, req: IncomingMessage, res: ServerResponse): Promise<void> => {
  const takeBack = putHead(response, res)
  const isEarly = !req.complete
  // What was not read of the body would be taken for the next request.
  if (isEarly && req.httpVersionMajor === 1) res.setHeader("connection", "close")
  const isBare = response.body === null || req.method === "HEAD"
  try {
    if (!isEarly && (isBare || isSmall(response))) {
      res.end(isBare ? undefined : Buffer.from(await response.arrayBuffer()))
      return
    }
    if (!isBare) await pipeline(Readable.fromWeb(response.body as never), res, { end: false })
  } catch (error) {
    if (!res.headersSent) takeBack()
    throw error
  }
  res.flushHeaders()
  if (isEarly && req.httpVersionMajor === 1) await drained(req)
  res.end(() => {
    if (isEarly && req.httpVersionMajor > 1) stopSending(req)
  })
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
export const toNodeHandler = (gate: Mountable, { prefix = "" }: NodeHandlerOptions = {}): NodeHandler => {
  return async (req, res, next) => {
    const path = pathOf(req, prefix)
    if (next !== undefined && (path === undefined || !gate.owns(path))) return next()
    // Whoever asked may have left while the host was busy.
    if (res.destroyed || (req.destroyed && !req.readableEnded)) return
    const abort = new AbortController()
    const leave = () => {
      if (!res.writableFinished) abort.abort()
    }
    res.once("close", leave)
    try {
      await send(await gate.handler(requestFrom(req, path ?? "/", abort.signal)), req, res)
    } catch (error) {
      if (abort.signal.aborted || res.destroyed) return
      // Half an answer must not be taken for a whole one.
      if (res.headersSent) return void res.destroy()
      if (next !== undefined) return next(error)
      res.statusCode = 500
      res.end()
    } finally {
      res.off("close", leave)
    }
  }
}
