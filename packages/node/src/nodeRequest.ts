/**
 * Converts a Node request to Tollgate's `TransportRequest`. It creates a web `Request` only when a caller needs one.
 *
 * When the client disconnects, two things happen: `signal` aborts, and a body that is still being read fails (see
 * `nodeBody.ts`). `toNodeHandler.ts` makes the signal.
 */
import type { IncomingMessage } from "node:http"
import { BodyNotRestorableError, readBody, type TransportRequest } from "@tollgate/core/internal"
import { readAll, toByteStream } from "./nodeBody.ts"

type Body = string | Buffer | ReadableStream<Uint8Array>
type Headers = Record<string, string>

/** A body that fails when it is read. Tollgate shows the message to the client. */
const makeFailingBody = (message: string): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start: (controller) => controller.error(new BodyNotRestorableError(message))
  })

const makeConsumedBody = () =>
  makeFailingBody("a body parser in front of Tollgate has already read the body; mount Tollgate before the parser")

/** Parsers read 1e999 as Infinity, which `JSON.stringify` would turn into null: reject it instead. */
const toJsonBody = (parsed: unknown): Body => {
  let isExact = true
  const json = JSON.stringify(parsed, (_, value) => {
    if (typeof value === "number" && !Number.isFinite(value)) isExact = false
    return value
  })
  return isExact ? json : makeFailingBody("the body contains a number that is too large")
}

const isForm = (headers: Headers): boolean =>
  /^(application\/x-www-form-urlencoded|multipart\/)/i.test(headers["content-type"] ?? "")

const hadBody = (headers: Headers): boolean =>
  Number(headers["content-length"] ?? 0) > 0 || headers["transfer-encoding"] !== undefined

/**
 * Restores the body from `req.body` if a body parser has already read the request; `undefined` if the body can still be
 * read. Forms and uploads cannot be restored byte for byte, so they fail.
 */
const getPreParsedBody = (req: IncomingMessage, path: string, headers: Headers): Body | undefined => {
  if (!req.readableEnded) return undefined
  const { body } = req as { readonly body?: unknown }
  // The body was read but is not in `req.body`: fail, because an empty body could mean something else to the endpoint.
  if (body === undefined) return hadBody(headers) ? makeConsumedBody() : undefined
  if (Buffer.isBuffer(body)) return body
  if (path.startsWith("/v1/uploads/")) return makeConsumedBody()
  if (typeof body === "string") return body
  return isForm(headers) ? makeConsumedBody() : toJsonBody(body)
}

/** A web `Request` cannot have these methods; under another name they get the same 404 or 405 as unknown methods. */
const getMethod = ({ method = "GET" }: IncomingMessage): string =>
  /^(connect|trace|track)$/i.test(method) ? "UNKNOWN" : method

const getHeaders = ({ rawHeaders }: IncomingMessage): Headers => {
  const headers: Headers = Object.create(null)
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? "").toLowerCase()
    const value = rawHeaders[index + 1] ?? ""
    // HTTP/2 sends the host, the method and the path as pseudo-headers, whose names begin with a colon.
    if (name === ":authority") headers["host"] = value
    else if (name === "host") headers["host"] ??= value
    else if (!name.startsWith(":")) {
      const separator = name === "cookie" ? "; " : ", "
      headers[name] = name in headers ? `${headers[name]}${separator}${value}` : value
    }
  }
  return headers
}

/** These headers describe the body as it was sent, not as the parser has changed it. */
const withoutBodyHeaders = (headers: Headers): Headers => {
  const { "content-length": _, "transfer-encoding": __, "content-encoding": ___, ...rest } = headers
  return rest
}

const toStream = (body: Body): ReadableStream<Uint8Array> | null =>
  body instanceof ReadableStream ? body : new Response(typeof body === "string" ? body : new Uint8Array(body)).body

/**
 * @param path the path and query below the mount point
 * @param basePath the path at which Tollgate is mounted
 * @param signal a signal that aborts when the client disconnects; called only when it is needed
 */
export const fromNodeRequest = (
  req: IncomingMessage,
  path: string,
  basePath: string,
  signal: () => AbortSignal
): TransportRequest => {
  const method = getMethod(req)
  const canHaveBody = method !== "GET" && method !== "HEAD"
  const sentHeaders = getHeaders(req)
  const preParsedBody = canHaveBody ? getPreParsedBody(req, path, sentHeaders) : undefined
  const headers = preParsedBody === undefined ? sentHeaders : withoutBodyHeaders(sentHeaders)
  const openBody = (): ReadableStream<Uint8Array> | null => {
    if (!canHaveBody) return null
    if (preParsedBody !== undefined) return toStream(preParsedBody)
    return req.readableEnded ? null : toByteStream(req)
  }
  const readBytes = async (maxBytes: number): Promise<Uint8Array | undefined> => {
    if (preParsedBody === undefined && canHaveBody && !req.readableEnded) return readAll(req, maxBytes)
    return readBody(openBody(), maxBytes)
  }
  // Once there is a web request, it owns the body.
  let webRequest: Request | undefined
  return {
    method,
    pathAndQuery: path,
    basePath,
    headers,
    signal,
    body: () => (webRequest === undefined ? openBody() : webRequest.body),
    readBytes: (maxBytes) => (webRequest === undefined ? readBytes(maxBytes) : readBody(webRequest.body, maxBytes)),
    toWebRequest: () => {
      if (webRequest !== undefined) return webRequest
      const init = { method, headers, signal: signal(), body: openBody(), duplex: "half" }
      webRequest = new Request(`http://localhost${path}`, init as RequestInit)
      return webRequest
    }
  }
}
