/**
 * Appends events of one outbox to the log of an account, each exactly once, and queues their deliveries: the commit also
 * records how far the outbox has been moved, and fails if another process has moved it meanwhile.
 */
import { Clock, DateTime, Effect, Option } from "effect"
import { planDrops } from "../outbox/dropOldEvents.ts"
import type { Event } from "../outbox/Event.ts"
import { EventRetention } from "../outbox/EventRetention.ts"
import { eventRecords, positionRecords } from "../outbox/eventRecords.ts"
import type { Entry } from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { Store } from "../store/Store.ts"
import { instruments } from "../telemetry/instruments.ts"
import { Telemetry } from "../telemetry/Telemetry.ts"
import { planDeliveries } from "../webhooks/planDeliveries.ts"
import { readWebhooks } from "../webhooks/webhookRecords.ts"

/** Maximum events and deliveries in one commit. */
const maxRecords = 600

const recordAppended = Effect.fnUntraced(function* (events: ReadonlyArray<Event>) {
  const { series } = yield* Telemetry
  const now = yield* Clock.currentTimeMillis
  series(instruments.events)(events.length)
  const recordDelay = series(instruments.eventDelay)
  for (const { occurredOn } of events) recordDelay(Math.max(0, now - DateTime.toEpochMillis(occurredOn)) / 1_000)
})

/** Appends as many events as fit into one commit. Returns whether there are more. */
const appendBatch = Effect.fnUntraced(function* (
  accountName: string,
  source: Partition.Partition,
  entries: ReadonlyArray<Entry<Event>>
) {
  const store = yield* Store
  const partition = Partition.forEvents(accountName)
  const reads = [positionRecords.get(partition, source), readWebhooks(accountName)] as const
  const [position, webhooks] = yield* Effect.all(reads, { concurrency: "unbounded" })
  const movedTo = Option.match(position, { onNone: () => 0, onSome: ({ value }) => value.movedTo })
  const newEntries = entries.filter(({ version }) => version > movedTo)
  if (newEntries.length === 0) return false
  // Never more than the log keeps.
  const { maxEventsPerAccount } = yield* EventRetention
  const batch = newEntries.slice(0, Math.min(maxEventsPerAccount, Math.ceil(maxRecords / (1 + webhooks.length))))
  const events = batch.map(({ value }) => value)
  const newPosition = { partition: source, movedTo: batch.at(-1)?.version ?? movedTo }
  yield* store.commit(partition, [
    Option.isSome(position)
      ? positionRecords.replace(position.value, newPosition)
      : positionRecords.insert(newPosition),
    ...events.map(eventRecords.insert),
    ...(yield* planDeliveries(events, webhooks)),
    ...(yield* planDrops(partition, batch.length))
  ])
  yield* recordAppended(events)
  return batch.length < newEntries.length
})

export const appendEvents = Effect.fnUntraced(function* (
  accountName: string,
  source: Partition.Partition,
  entries: ReadonlyArray<Entry<Event>>
) {
  while (yield* retryOnConflict(appendBatch(accountName, source, entries))) yield* Effect.yieldNow
})
