/**
 * Reads how much of each meter was used in periods, and how much of it is held by reservations.
 */

import { forEachInPieces, type Partition, Store } from "@tollgate/store/internal"
import { Effect } from "effect"
import type { PeriodId } from "../model/Period.ts"
import { getHeldCounter, getUsedCounter } from "../model/usageCounters.ts"

/** Maximum counters in one call. */
const batchSize = 1_000

/** The values of `count` counters, read in batches. A name is made when its batch is read: there may be 40,000. */
export const readCounters = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  count: number,
  getName: (index: number) => string
) {
  const store = yield* Store
  const values = new Float64Array(count)
  const starts = Array.from({ length: Math.ceil(count / batchSize) }, (_, index) => index * batchSize)
  yield* forEachInPieces(starts, (start) => {
    const names = Array.from({ length: Math.min(batchSize, count - start) }, (_, index) => getName(start + index))
    return Effect.map(store.counters(partition, names), (read) => values.set(read, start))
  })
  return values
})

/** Meters, and the id of the period that they count in. */
export interface MetersOfPeriod {
  readonly start: PeriodId
  readonly meters: ReadonlyArray<string>
}

/** The periods of a subscription whose usage is read. */
interface PeriodsOfSubscription {
  readonly subscriptionId: string
  readonly periods: ReadonlyArray<MetersOfPeriod>
}

/** Reads the usage of many subscriptions at once. Returns what each of them used. */
export const readUsageOfMany = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  requested: ReadonlyArray<PeriodsOfSubscription>
) {
  const names = new Set<string>()
  for (const { subscriptionId, periods } of requested) {
    for (const { start, meters } of periods) {
      for (const meter of meters) {
        names.add(getUsedCounter(subscriptionId, meter, start)).add(getHeldCounter(subscriptionId, meter, start))
      }
    }
  }
  const list = [...names]
  const counters = yield* readCounters(partition, list.length, (index) => list[index] ?? "")
  const values = new Map(list.map((name, index) => [name, counters[index]]))
  return (subscriptionId: string) => {
    const readHeld = (meter: string, start: PeriodId): number =>
      values.get(getHeldCounter(subscriptionId, meter, start)) ?? 0
    return {
      readHeld,
      /** What was used, without what is held. */
      read: (meter: string, start: PeriodId): number =>
        (values.get(getUsedCounter(subscriptionId, meter, start)) ?? 0) - readHeld(meter, start)
    }
  }
})

export const readUsage = (
  partition: Partition.Partition,
  subscriptionId: string,
  periods: ReadonlyArray<MetersOfPeriod>
) => Effect.map(readUsageOfMany(partition, [{ subscriptionId, periods }]), (readOf) => readOf(subscriptionId))
