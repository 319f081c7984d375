/**
 * Ends the connection of a client that does not read its response: otherwise the rest of the response would stay in memory
 * for as long as the client stays connected.
 *
 * A response is written in pieces. A piece counts as read when the operating system has accepted it, or over HTTP/2 when
 * the client's window has: neither tells more.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { http2Stream } from "./http2Stream.ts"

export const pieceBytes = 64 * 1024

interface ReadingWatch {
  /** The chunks of a body in pieces, for a pipeline that asks for the next one when it has written the last. */
  readonly toPieces: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>
  /** Watches the rest of a response that was ended. */
  readonly watchEnd: () => void
}

export const watchReading = (req: IncomingMessage, res: ServerResponse, timeoutMs: number): ReadingWatch => {
  const stream = http2Stream(req)
  let timer: NodeJS.Timeout | undefined
  const stop = (): void => clearTimeout(timer)
  const start = (): void => {
    timer = setTimeout(() => {
      // A pipelined response has no socket while those before it are sent.
      if (stream === undefined && res.socket === null) start()
      else res.destroy(stream && new Error("The client does not read the response"))
    }, timeoutMs)
  }
  return {
    toPieces: async function* (chunks) {
      try {
        for await (const chunk of chunks) {
          for (let begin = 0; begin < chunk.byteLength; begin += pieceBytes) {
            start()
            yield chunk.subarray(begin, begin + pieceBytes)
            stop()
          }
        }
      } finally {
        stop()
      }
    },
    watchEnd: () => {
      const response = stream ?? res
      if (response.writableFinished || response.destroyed) return
      start()
      response.once("finish", stop).once("close", stop)
    }
  }
}
