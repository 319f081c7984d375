/**
 * Removes records whose time has come, in batches, as background work.
 */

import { type Collection, type Entry, type Partition, Store, type TimeIndex } from "@tollgate/store/internal"
import { DateTime, Effect } from "effect"

const batchSize = 200

/** The first entries of each index term. */
export const readFirst = Effect.fnUntraced(function* <A>(
  records: Collection.Collection<A>,
  partition: Partition.Partition,
  terms: ReadonlyArray<string>,
  limit: number
) {
  const pages = yield* records.pages(
    partition,
    terms.map((term) => ({ where: [term], offset: 0, limit }))
  )
  return pages.map(({ entries }) => entries)
})

/**
 * Removes a batch of what is due by `index`. `findDue` finds the time of a record that has one, which all have that are in
 * the index. Returns when there is more to do.
 */
export const removeDue = Effect.fnUntraced(function* <A>(
  records: Collection.Collection<A>,
  index: TimeIndex,
  findDue: (value: A) => DateTime.Utc | undefined,
  partition: Partition.Partition
) {
  const store = yield* Store
  const now = yield* DateTime.now
  const found = (yield* readFirst(records, partition, index.termsUntil(now), batchSize)).flat()
  const getDue = ({ value }: Entry<A>) => findDue(value) ?? now
  const due = found.filter((entry) => DateTime.isLessThanOrEqualTo(getDue(entry), now)).slice(0, batchSize)
  yield* store.commit(partition, due.map(records.remove))
  if (due.length === batchSize) return now
  const soon = found.filter((entry) => !due.includes(entry)).map(getDue)
  if (soon.length > 0) return soon.reduce(DateTime.min)
  const later = index.termsAfter(now)
  const pages = yield* readFirst(
    records,
    partition,
    later.map(({ term }) => term),
    1
  )
  return later[pages.findIndex((entries) => entries.length > 0)]?.start
})
