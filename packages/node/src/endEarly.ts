/**
 * Ends a response to a request whose body has not been received in full. A client that is still sending reads the
 * response only if the server keeps reading for a while: a connection or stream closed at once can take it along.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { ServerHttp2Stream } from "node:http2"
import { http2Stream } from "./http2Stream.ts"
import { stopReading } from "./nodeBody.ts"

/** How long a client may go on sending after an early response. */
const lingerMs = 2_000

/** Discards the rest of the request's body, for up to `lingerMs`. */
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

/** How often, and how many times, to look whether a response has been sent to its end. */
const [pollMs, maxPolls] = [100, 300]

/**
 * RST_STREAM with NO_ERROR after a complete response tells the client to stop sending and to keep the response (RFC
 * 9113, 8.1). Node's `finish` event comes before the frame that ends the response, or before anyone can listen, so the
 * state of the stream is what counts: a reset that comes too soon makes the response incomplete.
 */
const resetAfterResponse = (stream: ServerHttp2Stream, polls = 0): void => {
  if (stream.destroyed || stream.closed) return
  if (stream.state.localClose === 1 || polls >= maxPolls) stream.close()
  else setTimeout(() => resetAfterResponse(stream, polls + 1), pollMs).unref()
}

export const endEarly = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
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
