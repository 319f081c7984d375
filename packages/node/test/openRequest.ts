/**
 * A client for HTTP/1.1 and HTTP/2 that sees a response while it arrives, and can disconnect in the middle.
 */
import { once } from "node:events"
import { request as requestHttp1, type Server } from "node:http"
import { connect, type Http2Server } from "node:http2"
import type { Readable } from "node:stream"

export interface OpenRequest {
  /** Resolves when the headers have arrived. */
  readonly response: Promise<{
    readonly status: number
    readonly headers: Readonly<Record<string, unknown>>
    /** Resolves with the next chunk of the body. */
    readonly readChunk: () => Promise<string>
    /** Reads the body to its end. */
    readonly readRest: () => Promise<string>
  }>
  readonly disconnect: () => void
}

interface RequestOptions {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
}

const toResponse = (status: unknown, headers: object, body: Readable) => ({
  status: Number(status),
  headers: { ...headers },
  readChunk: async () => String((await once(body, "data"))[0]),
  readRest: async () => (await body.toArray()).join("")
})

const openHttp1 = (url: string, { method, headers }: RequestOptions): OpenRequest => {
  const request = requestHttp1(url, { method, headers, agent: false })
  const response = once(request, "response").then(([message]) => {
    message.on("error", () => undefined)
    return toResponse(message.statusCode, message.headers, message)
  })
  request.on("error", () => undefined).end()
  response.catch(() => undefined)
  return { response, disconnect: () => request.destroy() }
}

const openHttp2 = (url: string, { method, headers }: RequestOptions): OpenRequest => {
  const { origin, pathname, search } = new URL(url)
  const session = connect(origin).on("error", () => undefined)
  const stream = session.request({ ...headers, ":method": method, ":path": pathname + search })
  const response = once(stream, "response").then(([headers]) => toResponse(headers[":status"], headers, stream))
  stream.on("error", () => undefined).on("close", () => session.close())
  response.catch(() => undefined)
  return { response, disconnect: () => session.destroy() }
}

export const openRequest = (
  server: Server | Http2Server,
  isHttp2: boolean,
  query: string,
  options: RequestOptions
): OpenRequest => {
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/${query}`
  return isHttp2 ? openHttp2(url, options) : openHttp1(url, options)
}
