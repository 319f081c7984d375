/**
 * A source on its way: no more of it is in memory than is on its way, and each piece is its reader's own.
 */
import { Stream } from "effect"
import { UploadInterrupted } from "./DeploymentError.ts"

/** A source: a gzip tar, whole or as a stream. */
export type SourceContent = Uint8Array | ReadableStream<Uint8Array>

/** A stream of bytes hands over the memory of each piece; any other may use it again. */
const handsOver = (stream: ReadableStream<Uint8Array>): boolean => {
  try {
    stream.getReader({ mode: "byob" }).releaseLock()
    return true
  } catch {
    return false
  }
}

export const contentOf = (source: SourceContent | null): Stream.Stream<Uint8Array, UploadInterrupted> => {
  if (source === null) return Stream.empty
  if (source instanceof Uint8Array) return Stream.sync(() => source.slice())
  const pieces = Stream.fromReadableStream({
    evaluate: () => source,
    onError: () => new UploadInterrupted({ problem: "it was cut off" })
  })
  return handsOver(source) ? pieces : Stream.map(pieces, (piece) => piece.slice())
}
