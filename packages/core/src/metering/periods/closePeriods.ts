/**
 * Closes the periods that are over, and corrects those that have changed, in the background: in one commit with the
 * schedule, so that each event is written once. A few subscriptions share a commit.
 */

import { type Change, type Entry, isStale, nextTurn, Partition, retryOnConflict, Store } from "@tollgate/store/internal"
import { DateTime, Effect, Option } from "effect"
import { readFirst } from "../../jobs/removeDue.ts"
import { readSettledCustomer } from "../credits/settleCredit.ts"
import { giveBackExpired } from "../ledger/giveBackExpired.ts"
import type { LongPeriod } from "../model/longPeriods.ts"
import type { MeteringBucket } from "../model/MeteringBucket.ts"
import { findMeteringBucket, meteringBucketRecords } from "../model/meteringBucketRecords.ts"
import type { PeriodId } from "../model/Period.ts"
import { closingRecords, closingTimes, type PeriodClosing } from "../model/periodClosings.ts"
import { getPeriodId } from "../model/reservedPeriods.ts"
import type { StoredSubscription } from "../model/Subscription.ts"
import { subscriptionRecords } from "../model/subscriptionRecords.ts"
import { type Closing, closeStep, findWaiting } from "./closeStep.ts"
import { type PeriodUsage, readPeriodUsage } from "./periodTotals.ts"
import { readTerms } from "./readTerms.ts"

/** How many due subscriptions are found at once. */
const pageSize = 200
/** Maximum subscriptions in one commit. */
const batchSize = 20
/** Maximum steps of one subscription in one commit: after a long downtime, many periods are over. */
const maxSteps = 100
/** How many one run closes, before it is the turn of other accounts. */
const maxInRun = 2_000
/** How soon a period is looked at again that has open reservations. */
const waitingDelay = { minutes: 5 }

interface Scheduled {
  readonly schedule: Entry<PeriodClosing>
  readonly subscription: Entry<StoredSubscription>
}

const hasReturns = ({ credit }: PeriodUsage): boolean =>
  Object.values(credit?.value.meters ?? {}).some(({ returns }) => returns.length > 0)

/** The usage of subscriptions, of which grants have got back what is given back. */
const readUsage = Effect.fnUntraced(function* (
  { id, accountName }: MeteringBucket,
  closings: ReadonlyArray<PeriodClosing>,
  now: DateTime.Utc
) {
  const partition = Partition.forMeteringBucket(id)
  const usages = yield* readPeriodUsage(partition, closings)
  const unsettled = closings.filter((_, index) => usages.some((usage, other) => other === index && hasReturns(usage)))
  if (unsettled.length === 0) return usages
  for (const { customerKey } of unsettled) yield* readSettledCustomer(accountName, id, customerKey, now)
  return yield* readPeriodUsage(partition, closings)
})

/** Reads all that closing needs of these schedules that are due, in a few calls. */
export const readClosings = Effect.fnUntraced(function* (
  bucketEntry: Entry<MeteringBucket>,
  scheduled: ReadonlyArray<Scheduled>,
  now: DateTime.Utc
) {
  const usages = yield* readUsage(
    bucketEntry.value,
    scheduled.map(({ schedule }) => schedule.value),
    now
  )
  const terms = yield* readTerms(
    bucketEntry,
    scheduled.map(({ subscription }) => subscription)
  )
  return scheduled.flatMap(({ schedule, subscription }, index): ReadonlyArray<Closing> => {
    const [usage, getTerms] = [usages[index], terms[index]]
    return usage === undefined || getTerms === undefined
      ? []
      : [{ closing: schedule.value, subscription, getTerms, usage }]
  })
})

/** When periods are looked at again that have open reservations; nothing if all have expired. */
const findOpen = Effect.fnUntraced(function* (
  bucketId: string,
  usageId: string,
  periods: ReadonlyArray<LongPeriod>,
  now: DateTime.Utc
) {
  const { givenBack, open } = yield* giveBackExpired(bucketId, usageId, now)
  const expiries = open.flatMap(({ value }) =>
    periods.some(({ id }) => Object.keys(value.meters).some((meter) => getPeriodId(value, meter) === id))
      ? [value.expiresOn]
      : []
  )
  if (expiries.length > 0) {
    return Option.some(DateTime.min(expiries.reduce(DateTime.max), DateTime.addDuration(now, waitingDelay)))
  }
  // To be read again.
  return givenBack > 0 ? Option.some(now) : Option.none()
})

const readScheduled = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  schedules: ReadonlyArray<Entry<PeriodClosing>>
) {
  const store = yield* Store
  const records = yield* store.get(
    partition,
    schedules.map(({ value }) => subscriptionRecords.recordKey(value.subscriptionId))
  )
  return yield* Effect.forEach(
    schedules,
    Effect.fnUntraced(function* (schedule, index) {
      const record = records[index]
      return { schedule, subscription: record && (yield* subscriptionRecords.decode(record)) }
    })
  )
})

const isDueAt = (now: DateTime.Utc, dueOn: DateTime.Utc | undefined): boolean =>
  dueOn !== undefined && DateTime.isLessThanOrEqualTo(dueOn, now)

/** Closes all periods of a subscription that are over, in order, unless one of them waits for open reservations. */
const closeSteps = Effect.fnUntraced(function* (bucket: MeteringBucket, first: Closing, now: DateTime.Utc) {
  const ids: Array<PeriodId> = []
  const events: Array<Change> = []
  let closing = first
  for (let step = 0; step < maxSteps; step++) {
    const closed = yield* closeStep(bucket, closing, now)
    ids.push(...closed.ids)
    events.push(...closed.events)
    closing = { ...closing, closing: closed.next }
    // What was changed is looked at by itself.
    if (closed.next.isChanged === true || !isDueAt(now, closed.next.dueOn)) break
    if (findWaiting(closing, now).length > 0) break
  }
  return { next: closing.closing, ids: [...new Set(ids)], events }
})

/** Does what is due of these schedules, in one commit. */
const closeBatch = Effect.fnUntraced(function* (
  bucketEntry: Entry<MeteringBucket>,
  schedules: ReadonlyArray<Entry<PeriodClosing>>,
  now: DateTime.Utc
) {
  const store = yield* Store
  const bucket = bucketEntry.value
  const partition = Partition.forMeteringBucket(bucket.id)
  const all = yield* readScheduled(partition, schedules)
  const scheduled = all.flatMap(({ schedule, subscription }) =>
    subscription === undefined ? [] : [{ schedule, subscription }]
  )
  const changes: Array<Change> = []
  for (const { schedule, subscription } of all) {
    if (subscription !== undefined) continue
    const { dueOn: _, ...value } = schedule.value
    changes.push(closingRecords.replace(schedule, { ...value, isEnded: true }))
  }
  for (const [index, closing] of (yield* readClosings(bucketEntry, scheduled, now)).entries()) {
    const schedule = scheduled[index]?.schedule
    if (schedule === undefined) continue
    const waiting = findWaiting(closing, now)
    const later =
      waiting.length === 0 ? Option.none() : yield* findOpen(bucket.id, schedule.value.usageId, waiting, now)
    if (Option.isSome(later)) {
      changes.push(closingRecords.replace(schedule, { ...schedule.value, dueOn: later.value }))
      continue
    }
    const closed = yield* closeSteps(bucket, closing, now)
    const { usage } = closing
    changes.push(closingRecords.replace(schedule, closed.next), ...usage.checkRecords())
    changes.push(...usage.checkCounters(closed.ids), ...closed.events)
  }
  yield* store.commit(partition, [meteringBucketRecords.assertUnchanged(bucketEntry), ...changes])
})

const isDue =
  (now: DateTime.Utc) =>
  ({ value: { dueOn } }: Entry<PeriodClosing>) =>
    isDueAt(now, dueOn)

/** One schedule, read again until nothing changes it meanwhile. */
const closeOne = (bucketEntry: Entry<MeteringBucket>, usageId: string, now: DateTime.Utc) =>
  retryOnConflict(
    Effect.gen(function* () {
      const schedule = yield* closingRecords.get(Partition.forMeteringBucket(bucketEntry.value.id), usageId)
      if (Option.isSome(schedule) && isDue(now)(schedule.value)) {
        yield* closeBatch(bucketEntry, [schedule.value], now)
      }
    })
  )

const findDue = Effect.fnUntraced(function* (partition: Partition.Partition, now: DateTime.Utc) {
  const found = (yield* readFirst(closingRecords, partition, closingTimes.termsUntil(now), pageSize)).flat()
  return { found, due: found.filter(isDue(now)).slice(0, pageSize) }
})

/** When the next is due; the beginning of the minute, hour, day, month or year of it, if that is later. */
const findNext = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  soon: ReadonlyArray<Entry<PeriodClosing>>,
  now: DateTime.Utc
) {
  const times = soon.flatMap(({ value: { dueOn } }) => (dueOn === undefined ? [] : [dueOn]))
  if (times.length > 0) return times.reduce(DateTime.min)
  const later = closingTimes.termsAfter(now)
  const pages = yield* closingRecords.pages(
    partition,
    later.map(({ term }) => ({ where: [term], offset: 0, limit: 0 }))
  )
  return later[pages.findIndex(({ total }) => total > 0)]?.start
})

/** Closes what is due in a metering bucket. Returns when there is more to do. */
export const closePeriods = Effect.fnUntraced(
  function* (bucketId: string, now: DateTime.Utc) {
    const partition = Partition.forMeteringBucket(bucketId)
    for (let closed = 0; closed < maxInRun; ) {
      const bucketEntry = yield* findMeteringBucket(bucketId)
      const { found, due } = yield* findDue(partition, now)
      if (due.length === 0) return yield* findNext(partition, found, now)
      for (let start = 0; start < due.length; start += batchSize) {
        const batch = due.slice(start, start + batchSize)
        yield* nextTurn
        yield* Effect.catchIf(closeBatch(bucketEntry, batch, now), isStale, () =>
          Effect.forEach(batch, ({ value }) => closeOne(bucketEntry, value.usageId, now), { discard: true })
        )
      }
      closed += due.length
    }
    return now
  },
  // It was removed.
  Effect.catchTag("MeteringBucketNotFound", () => Effect.succeed(undefined))
)
