import type { IncomingMessage } from "node:http"
import type { ServerHttp2Stream } from "node:http2"

/** The HTTP/2 stream of a request that Node's compatibility API presents as an `IncomingMessage`; none over HTTP/1. */
export const http2Stream = (req: IncomingMessage): ServerHttp2Stream | undefined => {
  const { stream } = req as { readonly stream?: ServerHttp2Stream }
  return req.httpVersionMajor > 1 ? stream : undefined
}
