/**
 * The body of a request: whole, or as it comes, without a copy, and read no faster than it is asked for.
 */
import type { IncomingMessage } from "node:http"

/**
 * A stream of bytes hands the memory itself over. What is not this piece's alone is copied: a piece of a shared pool, or
 * one that somebody else listens to as well.
 */
const owned = (chunk: Buffer | string, isShared: boolean): Uint8Array<ArrayBuffer> => {
  if (typeof chunk === "string") return new Uint8Array(Buffer.from(chunk))
  return isShared || chunk.byteLength !== chunk.buffer.byteLength
    ? new Uint8Array(chunk)
    : (chunk as Uint8Array as Uint8Array<ArrayBuffer>)
}

const cutOff = () => new Error("The request was cut off")

const readers = new WeakMap<IncomingMessage, () => void>()

/** Nobody reads the body any more; what still comes of it may be thrown away. */
export const abandon = (req: IncomingMessage): void => {
  readers.get(req)?.()
  // It may still fail, and nobody else listens.
  req.on("error", () => {})
}

/** The body whole, or nothing if it is longer than that. */
export const wholeOf = (req: IncomingMessage, limit: number): Promise<Uint8Array | undefined> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Uint8Array> = []
    let size = 0
    const take = (chunk: Buffer | string) => {
      const piece = typeof chunk === "string" ? Buffer.from(chunk) : chunk
      size += piece.byteLength
      if (size > limit) {
        abandon(req)
        req.pause()
        resolve(undefined)
      } else chunks.push(piece)
    }
    const end = () => {
      leave()
      resolve(Buffer.concat(chunks))
    }
    const fail = () => {
      leave()
      reject(cutOff())
    }
    const leave = () => {
      readers.delete(req)
      req.off("data", take).off("end", end).off("error", fail).off("close", fail)
    }
    if (req.destroyed) return reject(cutOff())
    readers.set(req, leave)
    // The host may have paused it.
    req.on("data", take).once("end", end).once("error", fail).once("close", fail).resume()
  })

/**
 * A stream of bytes, so that its reader owns each piece. Whoever has read enough leaves the request as it is: it still
 * has to be answered.
 */
export const bodyOf = (req: IncomingMessage): ReadableStream<Uint8Array> => {
  const start = (controller: ReadableByteStreamController) => {
    const take = (chunk: Buffer | string) => {
      controller.enqueue(owned(chunk, req.listenerCount("data") > 1))
      if ((controller.desiredSize ?? 0) <= 0) req.pause()
    }
    const end = () => {
      leave()
      controller.close()
    }
    const fail = () => {
      leave()
      controller.error(cutOff())
    }
    const leave = () => {
      readers.delete(req)
      req.off("data", take).off("end", end).off("error", fail).off("close", fail)
    }
    if (req.destroyed) return controller.error(cutOff())
    readers.set(req, leave)
    req.on("data", take).once("end", end).once("error", fail).once("close", fail).pause()
  }
  return new ReadableStream(
    {
      type: "bytes",
      start,
      pull: () => void req.resume(),
      cancel: () => {
        abandon(req)
        req.pause()
      }
    },
    { highWaterMark: 64 * 1024 }
  )
}
