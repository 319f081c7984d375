/**
 * Node's request as the interface is asked; as a web request only for whoever wants one.
 */
import type { IncomingMessage } from "node:http"
import { readBody, type TransportRequest } from "@tollgate/core"
import { readAll, toByteStream } from "./nodeBody.ts"

type Body = string | Buffer | ReadableStream<Uint8Array>

/** A body that cannot be given as it was sent, with the reason for whoever reads it. */
const erroredBody = (reason: string): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start: (controller) => {
      const error = new Error(reason)
      error.name = "TakenApart"
      controller.error(error)
    }
  })

const bodyAlreadyConsumed = () =>
  erroredBody("a body parser in front of Tollgate has taken it apart; mount Tollgate before the parser")

/** What a parser has read as infinite would be written as nothing. */
const restringify = (value: unknown): Body => {
  let isExact = true
  const text = JSON.stringify(value, (_, part) => {
    if (typeof part === "number" && !Number.isFinite(part)) isExact = false
    return part
  })
  return isExact ? text : erroredBody("a number in it is too large")
}

const isForm = (headers: Headers): boolean =>
  /^(application\/x-www-form-urlencoded|multipart\/)/i.test(headers["content-type"] ?? "")

/** Whether there was a body at all. */
const hadBody = (headers: Headers): boolean =>
  Number(headers["content-length"] ?? 0) > 0 || headers["transfer-encoding"] !== undefined

/** What a body parser of the host has left, as it was sent, or nearly. */
const preParsedBody = (req: IncomingMessage, path: string, headers: Headers): Body | undefined => {
  if (!req.readableEnded) return undefined
  const { body } = req as { readonly body?: unknown }
  // Somebody has read it and kept it: to go on as if nothing had been sent would make what nobody asked for.
  if (body === undefined) return hadBody(headers) ? bodyAlreadyConsumed() : undefined
  if (Buffer.isBuffer(body)) return body
  if (path.startsWith("/v1/uploads/")) return bodyAlreadyConsumed()
  if (typeof body === "string") return body
  return isForm(headers) ? bodyAlreadyConsumed() : restringify(body)
}

/** Methods that no web request can have are answered like any other that there is not. */
const getMethod = ({ method = "GET" }: IncomingMessage): string =>
  /^(connect|trace|track)$/i.test(method) ? "UNKNOWN" : method

type Headers = Record<string, string>

const getHeaders = ({ rawHeaders }: IncomingMessage): Headers => {
  const headers: Headers = Object.create(null)
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? "").toLowerCase()
    const value = rawHeaders[index + 1] ?? ""
    // HTTP/2 keeps the method and the path among the headers.
    if (name === ":authority") headers["host"] = value
    else if (name === "host") headers["host"] ??= value
    else if (!name.startsWith(":")) {
      const separator = name === "cookie" ? "; " : ", "
      headers[name] = name in headers ? `${headers[name]}${separator}${value}` : value
    }
  }
  return headers
}

/** They told of the body as it was sent, and not as a parser has left it. */
const withoutBodyHeaders = (headers: Headers): Headers => {
  const { "content-length": _, "transfer-encoding": __, "content-encoding": ___, ...rest } = headers
  return rest
}

const toStream = (body: Body): ReadableStream<Uint8Array> | null =>
  body instanceof ReadableStream ? body : new Response(typeof body === "string" ? body : new Uint8Array(body)).body

export const fromNodeRequest = (
  req: IncomingMessage,
  path: string,
  base: string,
  signal: () => AbortSignal
): TransportRequest => {
  const method = getMethod(req)
  const hasBody = method !== "GET" && method !== "HEAD"
  const sent = getHeaders(req)
  const parsed = hasBody ? preParsedBody(req, path, sent) : undefined
  const headers = parsed === undefined ? sent : withoutBodyHeaders(sent)
  const stream = (): ReadableStream<Uint8Array> | null => {
    if (!hasBody) return null
    return parsed === undefined ? (req.readableEnded ? null : toByteStream(req)) : toStream(parsed)
  }
  const read = async (limit: number): Promise<Uint8Array | undefined> => {
    if (parsed === undefined && hasBody && !req.readableEnded) return readAll(req, limit)
    return readBody(stream(), limit)
  }
  let made: Request | undefined
  return {
    method,
    url: path,
    basePath: base,
    headers,
    signal,
    body: () => (made === undefined ? stream() : made.body),
    bytes: (limit) => (made === undefined ? read(limit) : readBody(made.body, limit)),
    toWebRequest: () => {
      if (made !== undefined) return made
      const init = { method, headers, signal: signal(), body: stream(), duplex: "half" }
      made = new Request(`http://localhost${path}`, init as RequestInit)
      return made
    }
  }
}
