/**
 * Limits the batches in which a store is read, in number and in size: a record's body may be megabytes.
 */
import { Effect, Stream } from "effect"
import type { StoreEntry } from "./StoreEntry.ts"

export const maxBatchEntries = 500
/** In characters of the names and texts of the entries. */
export const maxBatchSize = 1_000_000

/** About how many characters an entry has. */
export const measureEntry = (entry: StoreEntry): number => {
  switch (entry._tag) {
    case "Sequence":
      return 0
    case "Record": {
      const { key, body, parent = "", indexTerms, uniqueKeys } = entry.record
      const names = [...indexTerms, ...uniqueKeys].reduce((size, name) => size + name.length, 0)
      return key.length + body.length + parent.length + names
    }
    case "Counter":
      return entry.name.length
    case "Replay":
      return entry.id.length + entry.fingerprint.length + entry.result.length
  }
}

/**
 * Takes entries from an iterator until a batch is full: at most 500 entries, and no more once their texts have a million
 * characters. The batch is empty only if there are no more entries.
 */
export const takeBatch = (entries: Iterator<StoreEntry>): ReadonlyArray<StoreEntry> => {
  const batch: Array<StoreEntry> = []
  let size = 0
  while (batch.length < maxBatchEntries && size < maxBatchSize) {
    const next = entries.next()
    if (next.done === true) break
    batch.push(next.value)
    size += measureEntry(next.value)
  }
  return batch
}

/** Emits batches until one is empty. */
export const streamBatches = <E>(
  next: Effect.Effect<ReadonlyArray<StoreEntry>, E>
): Stream.Stream<ReadonlyArray<StoreEntry>, E> =>
  Stream.unfold(undefined, () =>
    Effect.map(next, (batch) => (batch.length === 0 ? undefined : ([batch, undefined] as const)))
  )
