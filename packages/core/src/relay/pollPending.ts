/**
 * Looks for the work that other processes left behind, in the partitions of the directory. Removes an entry when no process
 * relies on it any more. Accounts take turns, and a poll visits only so many partitions: one account with thousands of them
 * neither delays the others nor keeps an idle process busy.
 */
import { Effect, Stream } from "effect"
import { type PendingPartition, pendingRecords, removableAfterMs } from "../outbox/pendingRecords.ts"
import { readMonotonicMillis } from "../outbox/readMonotonicMillis.ts"
import { FairQueue } from "../runtime/FairQueue.ts"
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
/** How many partitions one poll visits. The next one goes on. */
const maxVisits = 500

/** Does the work of a partition, or sees to it that it is done. Returns how much was found. */
export type Work = (partition: Partition, accountName: string) => Effect.Effect<number, StoreError, Store>

/** Makes the effect of one poll. It remembers what the polls before have seen. */
export const makePollPending = (work: Work, readMillis = readMonotonicMillis) => {
  let sightings: ReadonlyMap<string, Sighting> = new Map()
  /** The partitions to visit, by account. */
  const queue = new FairQueue<string>()

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
    function* (accountName: string, { entry, since, seenAt }: Sighting) {
      const store = yield* Store
      const found = yield* work(entry.value.partition as Partition, accountName)
      if (found > 0 || seenAt - since < removableAfterMs) return
      yield* Effect.ignore(store.commit(eventsDirectory, [pendingRecords.remove(entry)]))
    },
    Effect.catchCause((cause) => Effect.logDebug("Moving the events of another process failed", cause))
  )

  return Effect.gen(function* () {
    sightings = yield* readDirectory
    for (const [partition, { entry }] of sightings) queue.add(entry.value.accountName, partition)
    const visits: Array<Effect.Effect<void, never, Store>> = []
    while (visits.length < maxVisits) {
      const next = queue.take()
      if (next === undefined) break
      const sighting = sightings.get(next.item)
      if (sighting !== undefined) visits.push(workOrRemove(next.key, sighting))
    }
    yield* Effect.all(visits, { concurrency, discard: true })
  })
}
