/**
 * Counts the events that arrived before another one. The store can only skip a number of records, so this searches for
 * the number: events have ascending versions, because they are never written again.
 */

import type { Partition } from "@tollgate/store/internal"
import { Effect } from "effect"
import { eventRecords } from "./eventRecords.ts"

/** How many places each round trip looks at. 100,000 events take three round trips. */
const probes = 48

export const countEventsBefore = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  where: ReadonlyArray<string>,
  version: number
) {
  const { total } = yield* eventRecords.page(partition, { where, offset: 0, limit: 0 })
  /** All events at places before `low` arrived earlier, and all from `high` on did not. */
  let [low, high] = [0, total]
  while (low < high) {
    const step = Math.max(1, Math.ceil((high - low) / probes))
    const places = Array.from({ length: Math.ceil((high - low) / step) }, (_, index) => low + index * step)
    const pages = yield* eventRecords.pages(
      partition,
      places.map((offset) => ({ where, offset, limit: 1 }))
    )
    const firstLater = pages.findIndex(({ entries }) => (entries[0]?.version ?? Number.POSITIVE_INFINITY) >= version)
    const lastEarlier = firstLater < 0 ? places.length - 1 : firstLater - 1
    if (firstLater >= 0) high = places[firstLater] ?? high
    if (lastEarlier < 0) return low
    low = (places[lastEarlier] ?? low) + 1
  }
  return low
})
