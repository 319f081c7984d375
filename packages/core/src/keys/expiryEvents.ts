/**
 * Records `key.expiring` 14, 7 and 1 day before a key expires. A position in the partition of the key bucket says up to where
 * this was done. It moves in the commit of the events, so that each is recorded once, whichever processes do it.
 */

import {
  Collection,
  type Entry,
  type Partition,
  retryOnConflict,
  Store,
  StoreConflict,
  Timestamp
} from "@tollgate/store/internal"
import { DateTime, Effect, Schema, Stream } from "effect"
import type { DueWork } from "../jobs/DueWork.ts"
import { asSystem } from "../outbox/CurrentActor.ts"
import type { StoredKey } from "../records/ApiKey.ts"
import { consumerRecords, rollingTerm } from "../records/consumerRecords.ts"
import { getKeyBucket } from "../records/keyBucketPartition.ts"
import { expiryIndex, keyRecords } from "../records/keyRecords.ts"
import { recordKeyEvent } from "./keyEvents.ts"
import { removedConsumers, removeOrphans } from "./removedConsumers.ts"
import { finishAllRolls } from "./rolls.ts"

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const pageSize = 500
/** Maximum events in one commit. */
const batchSize = 500
/** How often a key bucket is looked at, if its keys expire one after the other. */
const minPause = { minutes: 1 }

/** The days before an expiry that have an event, and those on which the next one takes its place. */
const notices = [
  { daysLeft: 14, replacedAt: 7 },
  { daysLeft: 7, replacedAt: 1 },
  { daysLeft: 1, replacedAt: 0 }
] as const

export const expiriesJob = { name: "expiries" }

/** Up to where keys were looked at. Without `keyId`, all events of that time are recorded. */
const Position = Schema.Struct({ on: Timestamp, keyId: Schema.optionalKey(Schema.String) })
type Position = typeof Position.Type

const positionKey = "position"
const positions = Collection.make({
  name: "expiry-events",
  format: 1,
  schema: Position,
  key: () => positionKey,
  // Background work is never refused.
  countsBytes: false
})

/** The latest event of a key that is due. Times are in epoch milliseconds. */
interface DueEvent {
  readonly id: string
  readonly on: number
  readonly daysLeft: (typeof notices)[number]["daysLeft"]
}

/** The event of a key that is due and not yet recorded. Not those before the key had its expiry, or while it is disabled. */
const findEvent = (key: StoredKey, position: Position, now: number): DueEvent | undefined => {
  const { id, createdOn, expirySetOn = createdOn, disabled, expiresOn } = key
  if (expiresOn === undefined || disabled === true) return undefined
  const expiry = DateTime.toEpochMillis(expiresOn)
  const daysUntil = (expiry - now) / dayMs
  const notice = notices.find(({ daysLeft, replacedAt }) => replacedAt < daysUntil && daysUntil <= daysLeft)
  if (notice === undefined) return undefined
  const { daysLeft } = notice
  const on = expiry - daysLeft * dayMs
  const recordedUntil = DateTime.toEpochMillis(position.on)
  const isRecorded =
    on < recordedUntil || (on === recordedUntil && (position.keyId === undefined || id <= position.keyId))
  return isRecorded || on < DateTime.toEpochMillis(expirySetOn) ? undefined : { id, on, daysLeft }
}

/** The hours in which keys expire whose events may be due. */
const listHours = (position: Position, now: number): ReadonlyArray<string> =>
  notices.flatMap(({ daysLeft, replacedAt }) => {
    const until = now + daysLeft * dayMs
    const from = Math.max(DateTime.toEpochMillis(position.on) + daysLeft * dayMs, now + replacedAt * dayMs)
    const hours: Array<string> = []
    for (let hour = from - (from % hourMs); hour <= until; hour += hourMs) {
      hours.push(...expiryIndex.terms(DateTime.makeUnsafe(hour)).slice(-1))
    }
    return hours
  })

const streamHour = (partition: Partition.Partition, hour: string) =>
  keyRecords.stream(partition, { where: [hour], pageSize })

/** The events that are due, in order. Only what orders them is kept: there may be many. */
const findDueEvents = Effect.fnUntraced(function* (partition: Partition.Partition, position: Position, now: number) {
  const hours = [...new Set(listHours(position, now))]
  const pages = yield* keyRecords.pages(
    partition,
    hours.map((hour) => ({ where: [hour], offset: 0, limit: 0 }))
  )
  const events = yield* Stream.fromIterable(hours.filter((_, index) => pages[index]?.total !== 0)).pipe(
    Stream.flatMap((hour) => streamHour(partition, hour)),
    Stream.map(({ value }) => findEvent(value, position, now)),
    Stream.filter((event) => event !== undefined),
    Stream.runCollect
  )
  return events.sort((left, right) => left.on - right.on || (left.id < right.id ? -1 : 1))
})

/** When to look again: at the next event, or at the start of the hour, day, month or year that has it. */
const findNextTime = Effect.fnUntraced(function* (partition: Partition.Partition, now: DateTime.Utc) {
  const times = yield* Effect.forEach(
    notices,
    Effect.fnUntraced(function* ({ daysLeft }) {
      const after = DateTime.add(now, { days: daysLeft })
      const [hour = ""] = expiryIndex.terms(after).slice(-1)
      const ofHour = yield* Stream.runFold(
        streamHour(partition, hour),
        () => Number.POSITIVE_INFINITY,
        (first, { value: { expiresOn = after } }) =>
          DateTime.isGreaterThan(expiresOn, after) ? Math.min(first, DateTime.toEpochMillis(expiresOn)) : first
      )
      if (ofHour < Number.POSITIVE_INFINITY) return ofHour - daysLeft * dayMs
      const later = expiryIndex.termsAfter(after)
      const pages = yield* keyRecords.pages(
        partition,
        later.map(({ term }) => ({ where: [term], offset: 0, limit: 0 }))
      )
      // Keys may expire after all years that have a term.
      const next = later[pages.findIndex(({ total }) => total > 0)] ?? later.at(-1)
      return DateTime.toEpochMillis(next?.start ?? after) - daysLeft * dayMs
    })
  )
  return DateTime.max(DateTime.makeUnsafe(Math.min(...times)), DateTime.add(now, minPause))
})

/** The changes that record events. A key that was removed, or has changed so that the event is not due, has none. */
const recordEvents = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  events: ReadonlyArray<DueEvent>,
  position: Position,
  now: number
) {
  const store = yield* Store
  const bucket = getKeyBucket(partition)
  const records = yield* store.get(
    partition,
    events.map(({ id }) => keyRecords.recordKey(id))
  )
  const changes = yield* Effect.forEach(
    events,
    Effect.fnUntraced(function* ({ on, daysLeft }, index) {
      const record = records[index]
      if (record === undefined) return []
      const entry = yield* keyRecords.decode(record)
      if (findEvent(entry.value, position, now)?.on !== on) return []
      const event = yield* recordKeyEvent("key.expiring", bucket, entry.value, { daysLeft })
      return [keyRecords.assertUnchanged(entry), event]
    }, asSystem)
  )
  return changes.flat()
})

const recordDueEvents = Effect.fnUntraced(function* (partition: Partition.Partition, now: DateTime.Utc) {
  const store = yield* Store
  // Keys of a removed consumer may still be there, and others may not have the expiry of a roll yet.
  yield* removeOrphans(partition)
  yield* finishAllRolls(partition)
  const [record] = yield* store.get(partition, [positions.recordKey(positionKey)])
  let position: Entry<Position> =
    record === undefined ? { value: { on: DateTime.makeUnsafe(0) }, version: 0 } : yield* positions.decode(record)
  const millis = DateTime.toEpochMillis(now)
  const events = yield* findDueEvents(partition, position.value, millis)
  for (let start = 0; start === 0 || start < events.length; start += batchSize) {
    const batch = events.slice(start, start + batchSize)
    const last = start + batchSize < events.length ? batch.at(-1) : undefined
    const next: Position =
      last === undefined
        ? { on: DateTime.max(position.value.on, now) }
        : { on: DateTime.makeUnsafe(last.on), keyId: last.id }
    const commitResult = yield* store.commit(partition, [
      ...(yield* recordEvents(partition, batch, position.value, millis)),
      positions.replace(position, next),
      removedConsumers.assertAtMost(undefined, 0),
      consumerRecords.assertAtMost(rollingTerm, 0)
    ])
    position = { value: next, version: positions.getVersion(commitResult, positionKey) }
  }
  return yield* findNextTime(partition, now)
})

/** Records the events that are due in a key bucket. Returns when to look again. */
export const recordExpiringKeys = (partition: Partition.Partition, now: DateTime.Utc) =>
  retryOnConflict(recordDueEvents(partition, now), (error) => error instanceof StoreConflict)

type Expiring = Pick<StoredKey, "expiresOn">

/** Makes the function that sees to it that keys have their events. Call it before the commit that writes them. */
export const makeEnsureExpiryEvents =
  ({ ensure }: DueWork["Service"]) =>
  (partition: Partition.Partition, accountName: string, keys: ReadonlyArray<Expiring>) =>
    Effect.flatMap(DateTime.now, (now) => {
      const times = keys.flatMap(({ expiresOn }) =>
        expiresOn === undefined ? [] : notices.map(({ daysLeft }) => DateTime.subtract(expiresOn, { days: daysLeft }))
      )
      const [first, ...others] = times.filter((time) => DateTime.isGreaterThan(time, now))
      if (first === undefined) return Effect.void
      return ensure(expiriesJob, partition, Effect.succeed(accountName), others.reduce(DateTime.min, first))
    })

export type EnsureExpiryEvents = ReturnType<typeof makeEnsureExpiryEvents>
