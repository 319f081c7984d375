/**
 * The records of usage, in the partition of a metering bucket. The names of the collections are stored and cannot change.
 */

import { type Change, Collection, omitUndefined, type Partition, Store } from "@tollgate/store/internal"
import { Effect, Option, Schema } from "effect"
import { dayMs, getMonth } from "../model/clockSteps.ts"
import { getFirstKept, type PeriodId, PeriodKind, parseId } from "../model/Period.ts"
import { bySubscription } from "../model/reservationRecords.ts"
import { keptDays } from "../model/usageCounters.ts"
import { addToStep, dropOldSteps, type MeterAmounts, UsageLedger } from "./UsageLedger.ts"

const AmountByName = Schema.Record(Schema.String, Schema.Finite)

export const ledgerRecords = Collection.make({
  name: "usage",
  countsBytes: false,
  format: 1,
  schema: UsageLedger,
  key: ({ subscriptionId }) => subscriptionId
})

const UsageMonth = Schema.Struct({
  subscriptionId: Schema.String,
  /** Such as `2026-11`. */
  month: Schema.String,
  /** The usage by meter and day since the epoch. */
  days: Schema.Record(Schema.String, AmountByName)
})

const getMonthKey = (subscriptionId: string, month: string): string => `${subscriptionId}/${month}`

/** The rolled-up days of a subscription, one record per month. */
export const monthRecords = Collection.make({
  name: "usage-month",
  countsBytes: false,
  format: 1,
  schema: UsageMonth,
  key: ({ subscriptionId, month }) => getMonthKey(subscriptionId, month),
  indexTerms: ({ subscriptionId }) => [bySubscription(subscriptionId)]
})

/** The key of the record of a month. */
export const monthRecordKey = (subscriptionId: string, month: string): string =>
  monthRecords.recordKey(getMonthKey(subscriptionId, month))

const getPeriodsKey = (subscriptionId: string, kind: PeriodKind | undefined): string =>
  kind === undefined ? subscriptionId : `${subscriptionId}/${kind}`

/** The usage in closed periods of one kind, by meter and start in epoch milliseconds. */
export const periodRecords = Collection.make({
  name: "usage-periods",
  countsBytes: false,
  format: 1,
  schema: Schema.Struct({
    subscriptionId: Schema.String,
    /** Absent: the periods of the subscription. */
    kind: Schema.optionalKey(PeriodKind),
    periods: Schema.Record(Schema.String, AmountByName)
  }),
  key: ({ subscriptionId, kind }) => getPeriodsKey(subscriptionId, kind)
})

/** The key of the record of one kind. */
export const periodRecordKey = (subscriptionId: string, kind: PeriodKind | undefined): string =>
  periodRecords.recordKey(getPeriodsKey(subscriptionId, kind))

/** The closed periods of one kind. */
export const readClosedPeriods = (
  partition: Partition.Partition,
  subscriptionId: string,
  kind: PeriodKind | undefined
) => periodRecords.get(partition, getPeriodsKey(subscriptionId, kind))

/** More than the months that are kept. */
const maxMonths = 100

/** The rolled-up months of a subscription, oldest first. */
export const readMonths = (partition: Partition.Partition, subscriptionId: string) =>
  Effect.map(
    monthRecords.page(partition, { where: [bySubscription(subscriptionId)], offset: 0, limit: maxMonths }),
    ({ entries }) => entries
  )

/** Changes that add usage to days, and remove the months that are not kept any longer. */
export const addToDays = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  subscriptionId: string,
  days: ReadonlyMap<number, MeterAmounts>,
  now: number
) {
  if (days.size === 0) return []
  const store = yield* Store
  const months = Map.groupBy(days, ([day]) => getMonth(day))
  const keys = [...months.keys()].map((month) => monthRecordKey(subscriptionId, month))
  const records = yield* store.get(partition, keys)
  const changes: Array<Change> = []
  let isNew = false
  for (const [index, [month, added]] of [...months].entries()) {
    const record = records[index]
    const existing = record === undefined ? undefined : yield* monthRecords.decode(record)
    let sums = existing?.value.days ?? {}
    for (const [day, amounts] of added) sums = addToStep(sums, day, amounts)
    const value = { subscriptionId, month, days: sums }
    changes.push(existing === undefined ? monthRecords.insert(value) : monthRecords.replace(existing, value))
    isNew ||= existing === undefined
  }
  if (!isNew) return changes
  const firstMonth = getMonth(Math.floor(now / dayMs) - keptDays)
  const old = (yield* readMonths(partition, subscriptionId)).filter(({ value }) => value.month < firstMonth)
  const isWritten = (month: string) => months.has(month)
  return [...changes, ...old.filter(({ value }) => !isWritten(value.month)).map(monthRecords.remove)]
})

/** Changes that add closed periods to those of a subscription, and drop those that are not kept any longer. */
export const addClosedPeriods = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  subscriptionId: string,
  closed: ReadonlyMap<PeriodId, MeterAmounts>,
  now: number
) {
  const changes: Array<Change> = []
  for (const [kind, ofKind] of Map.groupBy(closed, ([id]) => parseId(id).kind)) {
    const existing = yield* readClosedPeriods(partition, subscriptionId, kind)
    let periods = Option.isSome(existing) ? existing.value.value.periods : {}
    for (const [id, amounts] of ofKind) periods = addToStep(periods, parseId(id).start, amounts)
    periods = dropOldSteps(periods, getFirstKept(kind, now))
    const value = { subscriptionId, ...omitUndefined({ kind }), periods }
    changes.push(Option.isSome(existing) ? periodRecords.replace(existing.value, value) : periodRecords.insert(value))
  }
  return changes
})
