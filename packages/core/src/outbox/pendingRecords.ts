/**
 * The directory of partitions that may have events in their outbox. A partition is added before its first event, and
 * again every five minutes while events are written, so that every process finds what a process that died left behind.
 */
import { DateTime, Effect, Schema } from "effect"
import { Timestamp } from "../schema/Timestamp.ts"
import * as Collection from "../store/Collection.ts"
import { eventsDirectory, type Partition } from "../store/Partition.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import type { StoreOperations } from "../store/Store.ts"
import type { StoreUnavailable } from "../store/StoreError.ts"

/** How long a process relies on an entry that it has written. */
export const entryLifetimeMs = 5 * 60_000

/** How long an entry stays the same before it can be removed. Longer than its lifetime and the slowest commit. */
export const removableAfterMs = 2 * entryLifetimeMs

const PendingPartition = Schema.Struct({
  partition: Schema.String,
  /** Whose events they are. */
  accountName: Schema.String,
  markedOn: Timestamp
})
export type PendingPartition = typeof PendingPartition.Type

export const pendingRecords = Collection.make({
  name: "pending",
  format: 1,
  schema: PendingPartition,
  key: ({ partition }) => partition
})

/** Adds a partition, or renews its entry. */
export const markPending = (
  store: StoreOperations,
  partition: Partition,
  accountName: string
): Effect.Effect<void, StoreUnavailable> =>
  retryOnConflict(
    Effect.gen(function* () {
      const value = { partition, accountName, markedOn: yield* DateTime.now }
      const [record] = yield* store.get(eventsDirectory, [pendingRecords.recordKey(partition)])
      yield* store.commit(eventsDirectory, [pendingRecords.replace({ value, version: record?.version ?? 0 }, value)])
    })
  ).pipe(
    // Other processes keep renewing the entry.
    Effect.catchTag("StoreConflict", () => Effect.void)
  )
