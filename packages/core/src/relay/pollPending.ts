/**
 * Does the work that other processes left behind, in all partitions of the directory. Removes an entry when no process
 * relies on it any more.
 */
import { Effect, Stream } from "effect"
import { type PendingPartition, pendingRecords, removableAfterMs } from "../outbox/pendingRecords.ts"
import { readMonotonicMillis } from "../outbox/readMonotonicMillis.ts"
import type { Entry } from "../store/Collection.ts"
import { eventsDirectory, type Partition } from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import type { StoreError } from "../store/StoreError.ts"

/** An entry, and since when this process has seen it unchanged, on its monotonic clock. */
interface Sighting {
  readonly entry: Entry<PendingPartition>
  readonly since: number
  readonly seenAt: number
}

const concurrency = 4
const pageSize = 1_000

/** Does the work of a partition. Returns how much was found. */
export type Work = (partition: Partition) => Effect.Effect<number, StoreError, Store>

/** Makes the effect of one poll. It remembers what the polls before have seen. */
export const makePollPending = (work: Work, readMillis = readMonotonicMillis) => {
  let sightings: ReadonlyMap<string, Sighting> = new Map()

  const readDirectory = Effect.gen(function* () {
    const seen = new Map<string, Sighting>()
    yield* Stream.runForEach(pendingRecords.stream(eventsDirectory, { pageSize }), (entry) =>
      Effect.sync(() => {
        // Not earlier: an entry may have been written just before it was read.
        const seenAt = readMillis()
        const earlier = sightings.get(entry.value.partition)
        const since = earlier?.entry.version === entry.version ? earlier.since : seenAt
        seen.set(entry.value.partition, { entry, since, seenAt })
      })
    )
    return seen
  })

  const workOrRemove = Effect.fnUntraced(
    function* ({ entry, since, seenAt }: Sighting) {
      const store = yield* Store
      const found = yield* work(entry.value.partition as Partition)
      if (found > 0 || seenAt - since < removableAfterMs) return
      yield* Effect.ignore(store.commit(eventsDirectory, [pendingRecords.remove(entry)]))
    },
    Effect.catchCause((cause) => Effect.logDebug("Moving the events of another process failed", cause))
  )

  return Effect.gen(function* () {
    sightings = yield* readDirectory
    yield* Effect.forEach(sightings.values(), workOrRemove, { concurrency, discard: true })
  })
}
