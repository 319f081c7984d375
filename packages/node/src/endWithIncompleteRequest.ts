/**
 * Ends a response to a request whose body has not been received completely (lingering close). Closing the connection or
 * stream immediately can discard the response before the client reads it, so the server keeps reading for up to 2 s.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { ServerHttp2Stream } from "node:http2"
import { http2Stream } from "./http2Stream.ts"
import { stopReading } from "./nodeBody.ts"

const lingerMs = 2_000

/** Reads and discards the rest of the request body, for up to `lingerMs`. */
const drainRequest = (req: IncomingMessage): Promise<void> =>
  new Promise((resolve) => {
    if (req.complete || req.destroyed) return resolve()
    stopReading(req)
    const timer = setTimeout(resolve, lingerMs)
    const done = () => {
      clearTimeout(timer)
      resolve()
    }
    req.once("end", done).once("close", done).on("error", done).resume()
  })

/** How often, and at most how many times, to check whether the response has been sent completely. */
const [pollMs, maxPolls] = [100, 300]

/**
 * After a complete response, RST_STREAM with NO_ERROR makes the client stop sending and keep the response (RFC 9113,
 * 8.1). A reset before the frame that ends the response would make the response incomplete. Node emits `finish` before
 * it sends that frame, so this polls the state of the stream.
 */
const resetAfterResponse = (stream: ServerHttp2Stream, polls = 0): void => {
  if (stream.destroyed || stream.closed) return
  if (stream.state.localClose === 1 || polls >= maxPolls) stream.close()
  else setTimeout(() => resetAfterResponse(stream, polls + 1), pollMs).unref()
}

/**
 * The caller has already written the headers and the body. `end` closes an HTTP/1.1 connection, which has
 * `Connection: close`, so the request is drained before it. Over HTTP/2, `end` only ends the response, so the client
 * gets the complete response at once, and the request is drained afterwards.
 */
export const endWithIncompleteRequest = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
  const stream = http2Stream(req)
  if (stream === undefined) {
    await drainRequest(req)
    res.end()
    return
  }
  res.end()
  await drainRequest(req)
  if (!req.complete) resetAfterResponse(stream)
}
