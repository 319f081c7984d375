/**
 * Packs a folder into a gzip tar. It reads and compresses in pieces, so that large folders neither block the page nor have
 * to fit into memory at once.
 */
import { type Folder, type FolderEntry, SourceError } from "./Source.ts"
import { makePadding, makeTarEnd, makeTarHeader } from "./tar.ts"

type Chunk = Uint8Array<ArrayBuffer>

async function* readContent({ path }: FolderEntry, file: File): AsyncGenerator<Chunk> {
  let bytes = 0
  const reader = file.stream().getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw new SourceError(`${path} cannot be read. It may have been moved or changed: choose the folder again.`)
      })
      if (done) break
      bytes += value.length
      yield value
    }
  } finally {
    reader.releaseLock()
  }
  if (bytes !== file.size) throw new SourceError(`${path} has changed while it was packed: choose the folder again.`)
  yield makePadding(bytes)
}

/** The bytes of the tar, in pieces. */
export async function* writeTar(entries: ReadonlyArray<FolderEntry>): AsyncGenerator<Chunk> {
  for (const entry of entries) {
    const { path, file } = entry
    yield makeTarHeader({
      path,
      kind: file === undefined ? "folder" : "file",
      bytes: file?.size ?? 0,
      modifiedOn: file?.lastModified ?? 0
    })
    if (file !== undefined && file.size > 0) yield* readContent(entry, file)
  }
  yield makeTarEnd()
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
  new Response(toStream(writeTar(entries), onProgress).pipeThrough(new CompressionStream("gzip"), { signal })).blob()
