/**
 * Reads the body of a Node request, as one buffer or as a byte stream with backpressure. Chunks are copied only if
 * their memory is shared.
 */
import type { IncomingMessage } from "node:http"

/**
 * A byte stream transfers each chunk's ArrayBuffer to its reader. A chunk is copied when it is a slice of Node's buffer
 * pool, or when another `data` listener receives it too.
 */
const toOwnedChunk = (chunk: Buffer | string, isShared: boolean): Uint8Array<ArrayBuffer> => {
  if (typeof chunk === "string") return new Uint8Array(Buffer.from(chunk))
  return isShared || chunk.byteLength !== chunk.buffer.byteLength
    ? new Uint8Array(chunk)
    : (chunk as Uint8Array as Uint8Array<ArrayBuffer>)
}

const makeDisconnectError = () => new Error("The client disconnected before it sent the whole body")

/** For each request whose body is being read, the function that removes the listeners. */
const detachFunctions = new WeakMap<IncomingMessage, () => void>()

/** Removes the listeners that read the body, so that the rest of it can be discarded. */
export const stopReading = (req: IncomingMessage): void => {
  detachFunctions.get(req)?.()
  // Without a listener, an error of the request would be thrown as an uncaught exception.
  req.on("error", () => {})
}

interface BodyListener {
  readonly onChunk: (chunk: Buffer | string) => void
  readonly onEnd: () => void
  readonly onError: (error: Error) => void
}

/**
 * Listens to the body until it ends, until the client disconnects (`onError`), or until `stopReading`. The request is
 * paused until the caller resumes it.
 */
const listenToBody = (req: IncomingMessage, { onChunk, onEnd, onError }: BodyListener): void => {
  if (req.destroyed) {
    onError(makeDisconnectError())
    return
  }
  const handleEnd = () => {
    detach()
    onEnd()
  }
  const handleDisconnect = () => {
    detach()
    onError(makeDisconnectError())
  }
  const detach = () => {
    detachFunctions.delete(req)
    req.off("data", onChunk).off("end", handleEnd).off("error", handleDisconnect).off("close", handleDisconnect)
  }
  detachFunctions.set(req, detach)
  req.on("data", onChunk).once("end", handleEnd).once("error", handleDisconnect).once("close", handleDisconnect).pause()
}

/**
 * Reads the whole body; resolves with `undefined` if it is longer than `maxBytes`. Chunks are copied together: a client may send
 * chunks of one byte, and each that is kept takes 200.
 */
export const readAll = (req: IncomingMessage, maxBytes: number): Promise<Uint8Array | undefined> =>
  new Promise((resolve, reject) => {
    let bytes = new Uint8Array(0)
    let size = 0
    const onChunk = (chunk: Buffer | string) => {
      const part = typeof chunk === "string" ? Buffer.from(chunk) : chunk
      const end = size + part.byteLength
      if (end > maxBytes) {
        stopReading(req)
        req.pause()
        return resolve(undefined)
      }
      if (end > bytes.byteLength) {
        const grown = new Uint8Array(Math.min(Math.max(end, 2 * size), maxBytes))
        grown.set(bytes.subarray(0, size))
        bytes = grown
      }
      bytes.set(part, size)
      size = end
    }
    listenToBody(req, { onChunk, onEnd: () => resolve(bytes.subarray(0, size)), onError: reject })
    req.resume()
  })

/**
 * The body as a byte stream. Cancelling the stream pauses the request and does not destroy it, because the response has
 * yet to be sent on the same connection.
 */
export const toByteStream = (req: IncomingMessage): ReadableStream<Uint8Array> => {
  const start = (controller: ReadableByteStreamController) => {
    const onChunk = (chunk: Buffer | string) => {
      controller.enqueue(toOwnedChunk(chunk, req.listenerCount("data") > 1))
      if ((controller.desiredSize ?? 0) <= 0) req.pause()
    }
    listenToBody(req, { onChunk, onEnd: () => controller.close(), onError: (error) => controller.error(error) })
  }
  return new ReadableStream(
    {
      type: "bytes",
      start,
      pull: () => void req.resume(),
      cancel: () => {
        stopReading(req)
        req.pause()
      }
    },
    { highWaterMark: 64 * 1024 }
  )
}
