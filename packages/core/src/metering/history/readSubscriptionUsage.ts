/**
 * Reads what a subscription used in hours, days and periods.
 */

import type { Partition } from "@tollgate/store/internal"
import { Effect, Option } from "effect"
import { type MetersOfPeriod, readUsage } from "../ledger/readUsage.ts"
import * as UsageLedger from "../ledger/UsageLedger.ts"
import { ledgerRecords, readClosedPeriods, readMonths } from "../ledger/usageRecords.ts"
import { getDayOfHour } from "../model/clockSteps.ts"
import { type PeriodKind, toId } from "../model/Period.ts"

export interface SubscriptionUsage {
  /** All meters that were ever used, also those that the plans do not have any more. */
  readonly meters: ReadonlySet<string>
  readonly inHour: (meter: string, hour: number) => number
  readonly inDay: (meter: string, day: number) => number
  /** In a period of the requested kind. `start` is in epoch milliseconds. */
  readonly inPeriod: (meter: string, start: number) => number
}

/** How often the records are read again because usage was rolled up meanwhile. */
const maxAttempts = 10

/** Which periods are read: those of the subscription, or of another kind, and the present one. */
interface RequestedPeriods {
  readonly kind: PeriodKind | undefined
  readonly current: MetersOfPeriod
}

const lookUp = (byStep: UsageLedger.AmountsByStep, meter: string, step: number): number =>
  Object.hasOwn(byStep, meter) ? (byStep[meter]?.[String(step)] ?? 0) : 0

/** Reads all that says when the subscription used its meters, as of one moment. */
const readRecords = (partition: Partition.Partition, subscriptionId: string, { kind, current }: RequestedPeriods) =>
  Effect.gen(function* () {
    const ledger = yield* ledgerRecords.get(partition, subscriptionId)
    const months = yield* readMonths(partition, subscriptionId)
    const closedPeriods = yield* readClosedPeriods(partition, subscriptionId, kind)
    const openPeriods = Option.isSome(ledger) ? ledger.value.value.periods : []
    const usage = yield* readUsage(partition, subscriptionId, [
      current,
      ...openPeriods.map(({ start, counted }) => ({ start, meters: Object.keys(counted) }))
    ])
    const later = yield* ledgerRecords.get(partition, subscriptionId)
    const isConsistent = Option.getOrUndefined(later)?.version === Option.getOrUndefined(ledger)?.version
    return { ledger, months, closedPeriods, usage, isConsistent }
  })

export const readSubscriptionUsage = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  subscriptionId: string,
  requested: RequestedPeriods
) {
  let records = yield* readRecords(partition, subscriptionId, requested)
  for (let attempt = 1; attempt < maxAttempts && !records.isConsistent; attempt++) {
    records = yield* readRecords(partition, subscriptionId, requested)
  }
  const { usage } = records
  const ledger = Option.isSome(records.ledger) ? records.ledger.value.value : UsageLedger.make(subscriptionId, 0)
  const closed = Option.isSome(records.closedPeriods) ? records.closedPeriods.value.value.periods : {}
  const open = UsageLedger.getOpenUsage(ledger, usage.read)
  const unrolled = UsageLedger.sumDays(ledger.hours, ledger.rolledUpTo, Number.POSITIVE_INFINITY)
  const openDay = getDayOfHour(ledger.openHour)
  const months = records.months.map(({ value }) => value.days)
  return {
    meters: new Set([
      ...Object.keys(closed),
      ...Object.keys(ledger.hours),
      ...ledger.periods.flatMap(({ counted }) => Object.keys(counted)),
      ...months.flatMap((days) => Object.keys(days))
    ]),
    inHour: (meter, hour) =>
      lookUp(ledger.hours, meter, hour) + (hour === ledger.openHour ? (open.get(meter) ?? 0) : 0),
    inDay: (meter, day) =>
      months.reduce((sum, days) => sum + lookUp(days, meter, day), 0) +
      (unrolled.get(day)?.get(meter) ?? 0) +
      (day === openDay ? (open.get(meter) ?? 0) : 0),
    inPeriod: (meter, start) => lookUp(closed, meter, start) + usage.read(meter, toId(requested.kind, start))
  } satisfies SubscriptionUsage
})
