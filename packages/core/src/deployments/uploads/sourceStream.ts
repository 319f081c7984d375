/**
 * A source on its way: no more of it is in memory than is on its way, and each piece is its reader's own.
 */
import { Stream } from "effect"
import { bodyErrorMessage } from "../../runtime/bodyErrorMessage.ts"
import { UploadInterrupted } from "../model/DeploymentError.ts"

/** A source: a gzip tar, whole or as a stream. */
export type SourceContent = Uint8Array | ReadableStream<Uint8Array>

/** A stream of bytes hands over the memory of each piece; any other may use it again. */
const isByteStream = (stream: ReadableStream<Uint8Array>): boolean => {
  try {
    stream.getReader({ mode: "byob" }).releaseLock()
    return true
  } catch {
    return false
  }
}

const chunkBytes = 64 * 1024

/** Copies, since the caller may use the memory again. A Buffer's own `slice` would share it. */
function* piecesOf(source: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < source.byteLength; at += chunkBytes) yield new Uint8Array(source.subarray(at, at + chunkBytes))
}

export const toSourceStream = (source: SourceContent | null): Stream.Stream<Uint8Array, UploadInterrupted> => {
  if (source === null) return Stream.empty
  if (source instanceof Uint8Array) return Stream.suspend(() => Stream.fromIterable(piecesOf(source), { chunkSize: 1 }))
  const pieces = Stream.fromReadableStream({
    evaluate: () => source,
    onError: (error) => new UploadInterrupted({ problem: bodyErrorMessage(error, "it was cut off") })
  })
  return isByteStream(source) ? pieces : Stream.map(pieces, (piece) => new Uint8Array(piece))
}
