/**
 * Moves the events of a partition's outbox to the logs of their accounts, in order. Any number of processes may do so at
 * once, and each step can be repeated.
 */

import { type Collection, type Partition, Store } from "@tollgate/store/internal"
import { Effect } from "effect"
import type { Event } from "../outbox/Event.ts"
import { outboxRecords } from "../outbox/outboxRecords.ts"
import { appendEvents } from "./appendEvents.ts"

/** Maximum events in one commit. */
const batchSize = 500

const groupByAccount = (entries: ReadonlyArray<Collection.Entry<Event>>) =>
  Map.groupBy(entries, ({ value }) => value.accountName)

/** Moves all events that are in the outbox now. Returns how many there were. */
export const moveEvents = Effect.fnUntraced(function* (partition: Partition.Partition) {
  const store = yield* Store
  let moved = 0
  for (;;) {
    const { entries } = yield* outboxRecords.page(partition, { offset: 0, limit: batchSize })
    if (entries.length === 0) return moved
    for (const [accountName, events] of groupByAccount(entries)) yield* appendEvents(accountName, partition, events)
    const isRemoved = yield* store.commit(partition, entries.map(outboxRecords.remove)).pipe(
      Effect.as(true),
      // Another process has moved and removed some of them.
      Effect.catchTag("StoreConflict", () => Effect.succeed(false))
    )
    moved += entries.length
    // Events that were added meanwhile wait for more, and move together.
    if (isRemoved && entries.length < batchSize) return moved
  }
})
