/**
 * Appends events of one outbox to the log of an account, each exactly once, with what follows from them: the commit also
 * records how far the outbox has been moved, and fails if another process has moved it meanwhile.
 */

import { type Entry, Partition, retryOnConflict, Store } from "@tollgate/store/internal"
import { Clock, DateTime, Effect, Option } from "effect"
import { planDrops } from "../outbox/dropOldEvents.ts"
import type { Event } from "../outbox/Event.ts"
import { EventRetention } from "../outbox/EventRetention.ts"
import { eventRecords, positionRecords } from "../outbox/eventRecords.ts"
import { instruments } from "../telemetry/instruments.ts"
import { Telemetry } from "../telemetry/Telemetry.ts"
import { EventSinks } from "./EventSinks.ts"

/** Maximum records in one commit. */
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
  const prepareAll = Effect.forEach(yield* EventSinks, ({ prepare }) => prepare(accountName))
  const reads = [positionRecords.get(partition, source), prepareAll] as const
  const [position, sinks] = yield* Effect.all(reads, { concurrency: "unbounded" })
  const movedTo = Option.match(position, { onNone: () => 0, onSome: ({ value }) => value.movedTo })
  const newEntries = entries.filter(({ version }) => version > movedTo)
  if (newEntries.length === 0) return false
  // Never more than the log keeps.
  const { maxEventsPerAccount, maxSystemEventsPerAccount } = yield* EventRetention
  const maxKept = Math.min(maxEventsPerAccount, maxSystemEventsPerAccount)
  const recordsPerEvent = sinks.reduce((sum, sink) => sum + sink.recordsPerEvent, 1)
  const batch = newEntries.slice(0, Math.min(maxKept, Math.ceil(maxRecords / recordsPerEvent)))
  const events = batch.map(({ value }) => value)
  const newPosition = { partition: source, movedTo: batch.at(-1)?.version ?? movedTo }
  yield* store.commit(partition, [
    Option.isSome(position)
      ? positionRecords.replace(position.value, newPosition)
      : positionRecords.insert(newPosition),
    ...events.map(eventRecords.insert),
    ...(yield* Effect.forEach(sinks, ({ plan }) => plan(events))).flat(),
    ...(yield* planDrops(partition, events))
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
