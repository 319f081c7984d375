/**
 * Writes notes of decisions to the store: adds to the counters, and to the entries of refusals that are alike, and removes
 * entries that are more than are kept.
 */
import { Change, type Entry, type Partition, retryOnConflict, Store } from "@tollgate/core/module"
import { Array as Arr, Effect } from "effect"
import { type DecisionNotes, getTtl } from "./DecisionNotes.ts"
import { mergeRefusals, type StoredRefusal } from "./Refusal.ts"
import { findBounds, refusalRecords } from "./refusalRecords.ts"

/** Short, because others write to the store between two commits. */
const batchSize = 100

/** Writes refusals that no entry is like, and adds the others to theirs. Returns those that are new. */
const writeRefusals = (partition: Partition.Partition, refusals: ReadonlyArray<StoredRefusal>) =>
  Effect.gen(function* () {
    const store = yield* Store
    const records = yield* store.get(
      partition,
      refusals.map(({ id }) => refusalRecords.recordKey(id))
    )
    const entries = yield* Effect.forEach(records, (record) =>
      record === undefined ? Effect.undefined : refusalRecords.decode(record)
    )
    const changes = refusals.map((refusal, index) => {
      const entry = entries[index]
      return entry === undefined
        ? refusalRecords.insert(refusal)
        : refusalRecords.replace(entry, mergeRefusals(entry.value, refusal))
    })
    yield* store.commit(partition, changes)
    return refusals.filter((_, index) => entries[index] === undefined)
  }).pipe(retryOnConflict)

/** Removes the oldest entries of each term that has more than are kept. */
const removeExcess = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  bounds: ReadonlyArray<readonly [term: string, kept: number]>
) {
  const store = yield* Store
  let excess: ReadonlyArray<Entry<StoredRefusal>>
  do {
    const pages = yield* refusalRecords.pages(
      partition,
      bounds.map(([term, kept]) => ({ where: [term], descending: true, offset: kept, limit: batchSize }))
    )
    excess = [...new Map(pages.flatMap(({ entries }) => entries).map((entry) => [entry.value.id, entry])).values()]
    for (const entries of Arr.chunksOf(excess, batchSize)) {
      yield* store.commit(partition, entries.map(refusalRecords.remove))
    }
  } while (excess.length > 0)
})

/** Puts back what it could not write. */
export const writeNotes = Effect.fnUntraced(function* (partition: Partition.Partition, notes: DecisionNotes) {
  const store = yield* Store
  const { counters, refusals } = notes.take()
  const unwrittenCounters = new Map(counters)
  const unwrittenRefusals = new Map(refusals)
  const write = Effect.gen(function* () {
    const added: Array<StoredRefusal> = []
    for (const batch of Arr.chunksOf([...refusals.values()], batchSize)) {
      added.push(...(yield* writeRefusals(partition, batch)))
      for (const { id } of batch) unwrittenRefusals.delete(id)
    }
    for (const batch of Arr.chunksOf([...counters], batchSize)) {
      yield* store.commit(
        partition,
        batch.map(([counter, by]) => Change.Add({ counter, by, ttl: getTtl(counter) }))
      )
      for (const [counter] of batch) unwrittenCounters.delete(counter)
    }
    for (const bounds of Arr.chunksOf([...new Map(added.flatMap(findBounds))], batchSize)) {
      // Another process that removes the same entries first is as good.
      yield* Effect.catchTag(removeExcess(partition, bounds), "StoreConflict", () => Effect.void)
    }
  })
  yield* Effect.onError(write, () =>
    Effect.sync(() => notes.putBack({ counters: unwrittenCounters, refusals: unwrittenRefusals }))
  )
})
