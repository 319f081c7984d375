import type { IncomingMessage } from "node:http"
import type { ServerHttp2Stream } from "node:http2"

/** The HTTP/2 stream behind a request of Node's compatibility API; `undefined` for HTTP/1. */
export const http2Stream = (req: IncomingMessage): ServerHttp2Stream | undefined => {
  const { stream } = req as { readonly stream?: ServerHttp2Stream }
  return req.httpVersionMajor > 1 ? stream : undefined
}
