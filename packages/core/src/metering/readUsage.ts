/**
 * Reads how much of each meter was used in periods, and how much of it is held by reservations.
 */
import { Effect } from "effect"
import { forEachInPieces } from "../runtime/turns.ts"
import type { Partition } from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import { getHeldCounter, getUsedCounter } from "./usageCounters.ts"

/** Maximum counters in one call. */
const batchSize = 1_000

/** The values of counters by name, read in batches. */
export const readCounters = Effect.fnUntraced(function* (partition: Partition, names: ReadonlyArray<string>) {
  const store = yield* Store
  const values = new Map<string, number>()
  const starts = Array.from({ length: Math.ceil(names.length / batchSize) }, (_, index) => index * batchSize)
  yield* forEachInPieces(starts, (start) => {
    const batch = names.slice(start, start + batchSize)
    return Effect.map(store.counters(partition, batch), (read) => {
      for (const [index, name] of batch.entries()) values.set(name, read[index] ?? 0)
    })
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
  const names = new Set(
    periods.flatMap(({ start, meters }) =>
      meters.flatMap((meter) => [
        getUsedCounter(subscriptionId, meter, start),
        getHeldCounter(subscriptionId, meter, start)
      ])
    )
  )
  const values = yield* readCounters(partition, [...names])
  const readHeld = (meter: string, start: number): number =>
    values.get(getHeldCounter(subscriptionId, meter, start)) ?? 0
  return {
    readHeld,
    /** What was used, without what is held. */
    read: (meter: string, start: number): number =>
      (values.get(getUsedCounter(subscriptionId, meter, start)) ?? 0) - readHeld(meter, start)
  }
})
