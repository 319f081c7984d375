/**
 * The records of usage, in the partition of a metering bucket. The names of the collections are stored and cannot change.
 */
import { Effect, Option, Schema } from "effect"
import * as Collection from "../../store/Collection.ts"
import type { Partition } from "../../store/Partition.ts"
import { type Change, Store } from "../../store/Store.ts"
import { dayMs, getMonth } from "../model/clockSteps.ts"
import { keptDays } from "../model/usageCounters.ts"
import { addToStep, type MeterAmounts, UsageLedger } from "./UsageLedger.ts"

const AmountByName = Schema.Record(Schema.String, Schema.Finite)

export const bySubscription = (subscriptionId: string): string => `subscription:${subscriptionId}`

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

/** The usage in closed periods, by meter and start in epoch milliseconds. */
export const periodRecords = Collection.make({
  name: "usage-periods",
  countsBytes: false,
  format: 1,
  schema: Schema.Struct({ subscriptionId: Schema.String, periods: Schema.Record(Schema.String, AmountByName) }),
  key: ({ subscriptionId }) => subscriptionId
})

/** More than the months that are kept. */
const maxMonths = 100

/** The rolled-up months of a subscription, oldest first. */
export const readMonths = (partition: Partition, subscriptionId: string) =>
  Effect.map(
    monthRecords.page(partition, { where: [bySubscription(subscriptionId)], offset: 0, limit: maxMonths }),
    ({ entries }) => entries
  )

/** Changes that add usage to days, and remove the months that are not kept any longer. */
export const addToDays = Effect.fnUntraced(function* (
  partition: Partition,
  subscriptionId: string,
  days: ReadonlyMap<number, MeterAmounts>,
  now: number
) {
  if (days.size === 0) return []
  const store = yield* Store
  const months = Map.groupBy(days, ([day]) => getMonth(day))
  const keys = [...months.keys()].map((month) => monthRecords.recordKey(getMonthKey(subscriptionId, month)))
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

/** A change that adds closed periods to those of a subscription. */
export const addClosedPeriods = Effect.fnUntraced(function* (
  partition: Partition,
  subscriptionId: string,
  closed: ReadonlyMap<number, MeterAmounts>
) {
  if (closed.size === 0) return []
  const existing = yield* periodRecords.get(partition, subscriptionId)
  let periods = Option.isSome(existing) ? existing.value.value.periods : {}
  for (const [start, amounts] of closed) periods = addToStep(periods, start, amounts)
  const value = { subscriptionId, periods }
  return [Option.isSome(existing) ? periodRecords.replace(existing.value, value) : periodRecords.insert(value)]
})
