/**
 * Reads how much of each meter was used in periods, and how much of it is held by reservations.
 */
import { Effect } from "effect"
import { forEachInPieces } from "../../runtime/turns.ts"
import type { Partition } from "../../store/Partition.ts"
import { Store } from "../../store/Store.ts"
import { getHeldCounter, getUsedCounter } from "../model/usageCounters.ts"

/** Maximum counters in one call. */
const batchSize = 1_000

/** The values of `count` counters, read in batches. A name is made when its batch is read: there may be 40,000. */
export const readCounters = Effect.fnUntraced(function* (
  partition: Partition,
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

interface MetersOfPeriod {
  /** In epoch milliseconds. */
  readonly start: number
  readonly meters: ReadonlyArray<string>
}

export const readUsage = Effect.fnUntraced(function* (
  partition: Partition,
  subscriptionId: string,
  periods: ReadonlyArray<MetersOfPeriod>
) {
  const names = [
    ...new Set(
      periods.flatMap(({ start, meters }) =>
        meters.flatMap((meter) => [
          getUsedCounter(subscriptionId, meter, start),
          getHeldCounter(subscriptionId, meter, start)
        ])
      )
    )
  ]
  const counters = yield* readCounters(partition, names.length, (index) => names[index] ?? "")
  const values = new Map(names.map((name, index) => [name, counters[index]]))
  const readHeld = (meter: string, start: number): number =>
    values.get(getHeldCounter(subscriptionId, meter, start)) ?? 0
  return {
    readHeld,
    /** What was used, without what is held. */
    read: (meter: string, start: number): number =>
      (values.get(getUsedCounter(subscriptionId, meter, start)) ?? 0) - readHeld(meter, start)
  }
})
