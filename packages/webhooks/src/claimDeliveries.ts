/**
 * Claims deliveries in one commit, and reads their events. Other processes repeat them if this one dies.
 */
import { type Entry, type Event, eventRecords, Partition, Processes, Store } from "@tollgate/core/module"
import { DateTime, Effect } from "effect"
import type { StoredDelivery } from "./Delivery.ts"
import type { ClaimedDelivery } from "./deliveryLanes.ts"
import { deliveryRecords } from "./webhookRecords.ts"

/** Longer than an attempt and a wait for a slot: then this process itself repeats what it could not finish. */
const claimDuration = { seconds: 30 }

const readEvents = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  deliveries: ReadonlyArray<StoredDelivery>
) {
  const store = yield* Store
  const ids = new Set(deliveries.flatMap(({ event, eventId }) => (event === undefined ? [eventId] : [])))
  const records = yield* store.get(partition, [...ids].map(eventRecords.recordKey))
  const events = new Map<string, Event>()
  for (const record of records) {
    if (record === undefined) continue
    const { value } = yield* eventRecords.decode(record)
    events.set(value.id, value)
  }
  return events
})

/** Fails if another process has claimed one of them. */
export const claimDeliveries = Effect.fnUntraced(function* (
  accountName: string,
  entries: ReadonlyArray<Entry<StoredDelivery>>,
  now: DateTime.Utc
) {
  const store = yield* Store
  const processes = yield* Processes
  const holder = yield* processes.join
  const partition = Partition.forEvents(accountName)
  const nextAttemptOn = DateTime.add(now, claimDuration)
  const deliveries = entries.map(({ value }) => ({ ...value, isNew: false, holder, nextAttemptOn }))
  yield* store.commit(
    partition,
    entries.map((entry, index) => deliveryRecords.replace(entry, deliveries[index] ?? entry.value))
  )
  const events = yield* readEvents(partition, deliveries)
  return deliveries.map(
    (delivery): ClaimedDelivery => ({
      delivery,
      event: delivery.event ?? events.get(delivery.eventId),
      claimedUntil: DateTime.toEpochMillis(nextAttemptOn)
    })
  )
})
