/**
 * Node's request as the interface is asked; as a web request only for whoever wants one.
 */
import type { IncomingMessage } from "node:http"
import { type Asked, readWhole } from "@tollgate/core"
import { bodyOf, wholeOf } from "./bodyOf.ts"

/** An upload that a body parser of the host has taken apart: what was sent is gone. */
const takenApart = (): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start: (controller) => {
      const error = new Error("a body parser in front of Tollgate has taken it apart; mount Tollgate before the parser")
      error.name = "TakenApart"
      controller.error(error)
    }
  })

type Body = string | Buffer | ReadableStream<Uint8Array>

/** What a body parser of the host has left, as it was sent, or nearly. */
const parsedBody = (req: IncomingMessage, path: string): Body | undefined => {
  const { body } = req as { readonly body?: unknown }
  if (body === undefined || !req.readableEnded) return undefined
  if (Buffer.isBuffer(body)) return body
  if (path.startsWith("/v1/uploads/")) return takenApart()
  return typeof body === "string" ? body : JSON.stringify(body)
}

/** Methods that no web request can have are answered like any other that there is not. */
const methodOf = ({ method = "GET" }: IncomingMessage): string =>
  /^(connect|trace|track)$/i.test(method) ? "UNKNOWN" : method

const headersOf = ({ rawHeaders }: IncomingMessage, isParsed: boolean): Record<string, string> => {
  const headers: Record<string, string> = Object.create(null)
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? "").toLowerCase()
    const value = rawHeaders[index + 1] ?? ""
    // HTTP/2 keeps the method and the path among the headers.
    if (name === ":authority") headers["host"] = value
    else if (!name.startsWith(":")) {
      const separator = name === "cookie" ? "; " : ", "
      headers[name] = name in headers ? `${headers[name]}${separator}${value}` : value
    }
  }
  if (isParsed) for (const name of ["content-length", "transfer-encoding", "content-encoding"]) delete headers[name]
  return headers
}

const streamOf = (body: Body): ReadableStream<Uint8Array> | null =>
  body instanceof ReadableStream ? body : new Response(typeof body === "string" ? body : new Uint8Array(body)).body

export const askedBy = (req: IncomingMessage, path: string, signal: () => AbortSignal): Asked => {
  const method = methodOf(req)
  const hasBody = method !== "GET" && method !== "HEAD"
  const parsed = hasBody ? parsedBody(req, path) : undefined
  const headers = headersOf(req, parsed !== undefined)
  const stream = (): ReadableStream<Uint8Array> | null => {
    if (!hasBody) return null
    return parsed === undefined ? (req.readableEnded ? null : bodyOf(req)) : streamOf(parsed)
  }
  const read = async (limit: number): Promise<Uint8Array | undefined> => {
    if (parsed === undefined && hasBody && !req.readableEnded) return wholeOf(req, limit)
    return readWhole(stream(), limit)
  }
  let made: Request | undefined
  return {
    method,
    url: path,
    headers,
    signal,
    stream: () => (made === undefined ? stream() : made.body),
    read: (limit) => (made === undefined ? read(limit) : readWhole(made.body, limit)),
    request: () => {
      if (made !== undefined) return made
      const init = { method, headers, signal: signal(), body: stream(), duplex: "half" }
      made = new Request(`http://localhost${path}`, init as RequestInit)
      return made
    }
  }
}
