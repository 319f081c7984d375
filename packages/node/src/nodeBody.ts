/**
 * The body of a request: whole, or as it comes, without a copy, and read no faster than it is asked for.
 */
import type { IncomingMessage } from "node:http"

/**
 * A stream of bytes hands the memory itself over. What is not this piece's alone is copied: a piece of a shared pool, or
 * one that somebody else listens to as well.
 */
const toOwnedChunk = (chunk: Buffer | string, isShared: boolean): Uint8Array<ArrayBuffer> => {
  if (typeof chunk === "string") return new Uint8Array(Buffer.from(chunk))
  return isShared || chunk.byteLength !== chunk.buffer.byteLength
    ? new Uint8Array(chunk)
    : (chunk as Uint8Array as Uint8Array<ArrayBuffer>)
}

const aborted = () => new Error("The request was cut off")

const readers = new WeakMap<IncomingMessage, () => void>()

/** Nobody reads the body any more; what still comes of it may be thrown away. */
export const stopReading = (req: IncomingMessage): void => {
  readers.get(req)?.()
  // It may still fail, and nobody else listens.
  req.on("error", () => {})
}

interface Reader {
  readonly take: (chunk: Buffer | string) => void
  readonly end: () => void
  readonly fail: (error: Error) => void
}

/** Reads a body until its end, its failure, or somebody abandons it; paused until it is resumed. */
const listen = (req: IncomingMessage, { take, end, fail }: Reader): void => {
  if (req.destroyed) {
    fail(aborted())
    return
  }
  const ended = () => {
    detach()
    end()
  }
  const failed = () => {
    detach()
    fail(aborted())
  }
  const detach = () => {
    readers.delete(req)
    req.off("data", take).off("end", ended).off("error", failed).off("close", failed)
  }
  readers.set(req, detach)
  req.on("data", take).once("end", ended).once("error", failed).once("close", failed).pause()
}

/** The body whole, or nothing if it is longer than that. */
export const readAll = (req: IncomingMessage, limit: number): Promise<Uint8Array | undefined> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Uint8Array> = []
    let size = 0
    const take = (chunk: Buffer | string) => {
      const piece = typeof chunk === "string" ? Buffer.from(chunk) : chunk
      size += piece.byteLength
      if (size <= limit) return void chunks.push(piece)
      stopReading(req)
      req.pause()
      resolve(undefined)
    }
    listen(req, { take, end: () => resolve(Buffer.concat(chunks)), fail: reject })
    req.resume()
  })

/**
 * A stream of bytes, so that its reader matches each piece. Whoever has read enough leaves the request as it is: it still
 * has to be answered.
 */
export const toByteStream = (req: IncomingMessage): ReadableStream<Uint8Array> => {
  const start = (controller: ReadableByteStreamController) => {
    const take = (chunk: Buffer | string) => {
      controller.enqueue(toOwnedChunk(chunk, req.listenerCount("data") > 1))
      if ((controller.desiredSize ?? 0) <= 0) req.pause()
    }
    listen(req, { take, end: () => controller.close(), fail: (error) => controller.error(error) })
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
