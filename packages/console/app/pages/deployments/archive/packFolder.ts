/**
 * Packs a folder into a gzip tar. It reads and compresses in pieces, so that large folders neither block the page nor have
 * to fit into memory at once.
 */
import { type Folder, type FolderEntry, SourceError } from "./Source.ts"
import { concatenate, makePadding, makeTarEnd, makeTarHeader } from "./tar.ts"

type Chunk = Uint8Array<ArrayBuffer>

/** Larger files are read in pieces. */
const maxWholeFile = 1024 * 1024
/** Small pieces are joined, since each piece has its cost in the compression. */
const batchBytes = 256 * 1024

async function* readPieces(file: File): AsyncGenerator<Chunk> {
  if (file.size <= maxWholeFile) return yield new Uint8Array(await file.arrayBuffer())
  const reader = file.stream().getReader()
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value
  } finally {
    reader.releaseLock()
  }
}

async function* readContent(path: string, file: File, expectedBytes: number): AsyncGenerator<Chunk> {
  let bytes = 0
  try {
    for await (const piece of readPieces(file)) {
      bytes += piece.length
      yield piece
    }
  } catch {
    throw new SourceError(`${path} cannot be read. It may have been moved or changed: choose the folder again.`)
  }
  if (bytes !== expectedBytes) {
    throw new SourceError(`${path} has changed while it was packed: choose the folder again.`)
  }
  yield makePadding(bytes)
}

/** The bytes of the tar, in pieces. */
export async function* writeTar(entries: ReadonlyArray<FolderEntry>): AsyncGenerator<Chunk> {
  for (const { path, file } of entries) {
    const bytes = file?.size ?? 0
    yield makeTarHeader({
      path,
      kind: file === undefined ? "folder" : "file",
      bytes,
      modifiedOn: file?.lastModified ?? 0
    })
    if (file !== undefined && bytes > 0) yield* readContent(path, file, bytes)
  }
  yield makeTarEnd()
}

async function* joinSmall(chunks: AsyncGenerator<Chunk>): AsyncGenerator<Chunk> {
  let batch: Array<Chunk> = []
  let bytes = 0
  for await (const chunk of chunks) {
    batch.push(chunk)
    bytes += chunk.length
    if (bytes < batchBytes) continue
    yield concatenate(batch)
    batch = []
    bytes = 0
  }
  yield concatenate(batch)
}

const toStream = (chunks: AsyncGenerator<Chunk>, onProgress: (bytes: number) => void): ReadableStream<Chunk> => {
  let bytes = 0
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done) return controller.close()
      bytes += value.length
      onProgress(bytes)
      controller.enqueue(value)
    },
    async cancel() {
      await chunks.return(undefined)
    }
  })
}

export interface PackOptions {
  readonly signal: AbortSignal
  /** Called with the bytes that were packed so far, before compression. */
  readonly onProgress: (bytes: number) => void
}

export const packFolder = ({ entries }: Folder, { signal, onProgress }: PackOptions): Promise<Blob> =>
  new Response(
    toStream(joinSmall(writeTar(entries)), onProgress).pipeThrough(new CompressionStream("gzip"), { signal })
  ).blob()
