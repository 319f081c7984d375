/**
 * The changes of schedules that come with those of subscriptions.
 */

import { type Change, type Entry, Partition, Store } from "@tollgate/store/internal"
import { type DateTime, Effect, Option } from "effect"
import { longPeriodsUntil } from "../model/longPeriods.ts"
import type { MeteringBucket } from "../model/MeteringBucket.ts"
import type { PeriodId } from "../model/Period.ts"
import { closingRecords, type PeriodClosing } from "../model/periodClosings.ts"
import { getUsageId, type StoredSubscription } from "../model/Subscription.ts"
import { readClosings } from "./closePeriods.ts"
import { closeStep } from "./closeStep.ts"
import { closingAfter, listOpenEnds, makeClosing, withoutPeriods } from "./closingSchedule.ts"
import { readTerms } from "./readTerms.ts"

/** A subscription before a change, which is none for a new one, and after it. */
export interface SubscriptionChange {
  readonly before: Entry<StoredSubscription> | undefined
  readonly after: StoredSubscription
}

/** What is read of several subscriptions whose schedules are to change. */
const readSchedules = Effect.fnUntraced(function* (partition: Partition.Partition, usageIds: ReadonlyArray<string>) {
  const store = yield* Store
  const records = yield* store.get(partition, usageIds.map(closingRecords.recordKey))
  const schedules = new Map<string, Entry<PeriodClosing>>()
  for (const [index, usageId] of usageIds.entries()) {
    const record = records[index]
    if (record !== undefined) schedules.set(usageId, yield* closingRecords.decode(record))
  }
  return schedules
})

/** Keeps what applied when periods ended that are not closed yet, because the subscription is about to change. */
const keepTerms = Effect.fnUntraced(function* (
  bucketEntry: Entry<MeteringBucket>,
  schedule: PeriodClosing,
  before: Entry<StoredSubscription>,
  now: DateTime.Utc
) {
  if (schedule.subscriptionId !== before.value.id) return schedule
  const periods = listOpenEnds(schedule, before.value, now)
    .flatMap((end) => longPeriodsUntil(before.value, end))
    .filter(({ id }) => schedule.ended.every((ended) => ended.id !== id))
  if (periods.length === 0) return schedule
  const terms = yield* readTerms(bucketEntry, [before])
  return {
    ...schedule,
    ended: [...schedule.ended, ...terms.flatMap((getTerms) => periods.map((period) => getTerms(period)))]
  }
})

/** The changes of the schedules of subscriptions, and when the first is due of those that change. */
export const changeClosings = Effect.fnUntraced(function* (
  bucketEntry: Entry<MeteringBucket>,
  subscriptions: ReadonlyArray<SubscriptionChange>,
  now: DateTime.Utc
) {
  const partition = Partition.forMeteringBucket(bucketEntry.value.id)
  const usageIds = [...new Set(subscriptions.map(({ after }) => getUsageId(after)))]
  const existing = yield* readSchedules(partition, usageIds)
  const schedules = new Map([...existing].map(([usageId, { value }]) => [usageId, value]))
  for (const { before, after } of subscriptions) {
    const usageId = getUsageId(after)
    const schedule = schedules.get(usageId)
    if (schedule === undefined) {
      const made = makeClosing(after, now)
      const isNew = before === undefined
      schedules.set(
        usageId,
        isNew && after.status === "canceled" ? withoutPeriods(made, after, now) : closingAfter(made, after, now)
      )
    } else {
      const kept = before === undefined ? schedule : yield* keepTerms(bucketEntry, schedule, before, now)
      schedules.set(usageId, closingAfter(kept, after, now))
    }
  }
  const changed = [...schedules].filter(([usageId, schedule]) => existing.get(usageId)?.value !== schedule)
  return {
    changes: changed.map(([usageId, schedule]) => {
      const entry = existing.get(usageId)
      return entry === undefined ? closingRecords.insert(schedule) : closingRecords.replace(entry, schedule)
    }),
    dueTimes: changed.flatMap(([, { dueOn }]) => (dueOn === undefined ? [] : [dueOn]))
  }
})

/**
 * The changes that close all periods of a subscription that is being deleted. `isShared`: another subscription counts in the
 * same counters, and may go on. Otherwise they stand beside the changes that remove the usage, which are computed before.
 */
export const closeDeleted = Effect.fnUntraced(function* (
  bucketEntry: Entry<MeteringBucket>,
  subscription: Entry<StoredSubscription>,
  isShared: boolean,
  now: DateTime.Utc
) {
  const partition = Partition.forMeteringBucket(bucketEntry.value.id)
  const found = yield* closingRecords.get(partition, getUsageId(subscription.value))
  if (Option.isNone(found)) return []
  const schedule = found.value
  const isOfOther = schedule.value.subscriptionId !== subscription.value.id
  if (isOfOther) return isShared ? [] : [closingRecords.remove(schedule)]
  const [closing] = yield* readClosings(bucketEntry, [{ schedule, subscription }], now)
  if (closing === undefined) return []
  const events: Array<Change> = []
  const ids = new Set<PeriodId>()
  let value: PeriodClosing = { ...schedule.value, canceledOn: schedule.value.canceledOn ?? now.epochMilliseconds }
  while (value.isEnded !== true || value.isChanged === true) {
    const step = yield* closeStep(bucketEntry.value, { ...closing, closing: value }, now, true)
    events.push(...step.events)
    for (const id of step.ids) ids.add(id)
    const { isChanged: _, dueOn: __, ...next } = step.next
    value = next
  }
  const { usage } = closing
  return [
    ...(isShared
      ? [closingRecords.replace(schedule, value), ...usage.checkRecords()]
      : [closingRecords.remove(schedule)]),
    ...usage.checkCounters([...ids]),
    ...events
  ]
})
