/**
 * Converts an uploaded source to a stream of small chunks. Each chunk owns its buffer, so that the consumer may detach
 * it.
 */
import { bodyErrorMessage, type InvalidInput } from "@tollgate/core/module"
import { Stream } from "effect"
import { uploadIncomplete } from "./uploadErrors.ts"

/** A source: a gzipped tar archive, in memory or as a stream. */
export type SourceContent = Uint8Array | ReadableStream<Uint8Array>

/** A byte stream transfers the buffer of each chunk. Other streams may reuse their buffers. */
const isByteStream = (stream: ReadableStream<Uint8Array>): boolean => {
  try {
    stream.getReader({ mode: "byob" }).releaseLock()
    return true
  } catch {
    return false
  }
}

const chunkBytes = 64 * 1024

/** Copies, since the caller may reuse the buffer. `Buffer.slice` would share its memory. */
function* copyInChunks(source: Uint8Array): Generator<Uint8Array> {
  for (let offset = 0; offset < source.byteLength; offset += chunkBytes) {
    yield new Uint8Array(source.subarray(offset, offset + chunkBytes))
  }
}

export const toSourceStream = (source: SourceContent | null): Stream.Stream<Uint8Array, InvalidInput> => {
  if (source === null) return Stream.empty
  if (source instanceof Uint8Array) {
    return Stream.suspend(() => Stream.fromIterable(copyInChunks(source), { chunkSize: 1 }))
  }
  const chunks = Stream.fromReadableStream({
    evaluate: () => source,
    onError: (error) => uploadIncomplete(bodyErrorMessage(error, "the connection was closed early"))
  })
  return isByteStream(source) ? chunks : Stream.map(chunks, (chunk) => new Uint8Array(chunk))
}
