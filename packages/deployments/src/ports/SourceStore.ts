/**
 * The port that stores sources: uploaded archives, under keys that are valid file names.
 */
import { Effect, Stream } from "effect"
import { SourceStoreError } from "../model/DeploymentError.ts"

/** Stores uploaded archives until they are deployed. Keys are valid file names. */
export interface SourceStore {
  /**
   * Stores the stream atomically: leaves nothing behind when the stream fails or is interrupted. Each key is used once.
   * The store owns the chunks' buffers and may detach them.
   */
  readonly put: <E>(key: string, content: Stream.Stream<Uint8Array, E>) => Effect.Effect<void, E | SourceStoreError>
  /** Whether the disk has less free space than its reserve: uploads are then refused. */
  readonly isDiskLow?: () => boolean
  readonly open: (key: string) => Stream.Stream<Uint8Array, SourceStoreError>
  /** Removes a source. Succeeds if there is none. */
  readonly remove: (key: string) => Effect.Effect<void, SourceStoreError>
  /** Removes sources that are older than an hour and not in use, such as those of processes that died. */
  readonly sweep?: (isInUse: (key: string) => Effect.Effect<boolean>) => Effect.Effect<void, SourceStoreError>
}

/** An in-memory source store for tests. */
export const memorySourceStore = (): SourceStore => {
  const files = new Map<string, ReadonlyArray<Uint8Array>>()
  return {
    put: (key, content) =>
      Effect.map(Stream.runCollect(content), (chunks) => {
        files.set(key, chunks)
      }),
    open: (key) => {
      const chunks = files.get(key)
      return chunks === undefined
        ? Stream.fail(new SourceStoreError({ problem: "the source does not exist" }))
        : Stream.fromIterable(chunks)
    },
    remove: (key) => Effect.sync(() => void files.delete(key))
  }
}
