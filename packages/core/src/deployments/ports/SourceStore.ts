/**
 * The port by which sources are kept: archives as they were uploaded, under keys that are fit for a file's name.
 */
import { Effect, Stream } from "effect"
import { SourceStoreError } from "../model/DeploymentError.ts"

export interface SourceStore {
  /**
   * Keeps what the stream gives, whole or not at all: when the stream fails or is interrupted, nothing is left. Nobody
   * has used the key before. The pieces are the store's own: nobody else reads them.
   */
  readonly put: <E>(key: string, content: Stream.Stream<Uint8Array, E>) => Effect.Effect<void, E | SourceStoreError>
  readonly open: (key: string) => Stream.Stream<Uint8Array, SourceStoreError>
  /** Removes a source; one that is not there is no fault. */
  readonly remove: (key: string) => Effect.Effect<void, SourceStoreError>
  /** Removes what was left behind by processes that died: whatever is older than an hour and not wanted. */
  readonly sweep?: (isWanted: (key: string) => Effect.Effect<boolean>) => Effect.Effect<void, SourceStoreError>
}

/** Sources in memory, for tests. */
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
        ? Stream.fail(new SourceStoreError({ problem: "there is no such source" }))
        : Stream.fromIterable(chunks)
    },
    remove: (key) => Effect.sync(() => void files.delete(key))
  }
}
