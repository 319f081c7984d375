/**
 * Finds the events that the log of an account no longer keeps: the oldest ones that are too many or too old. Changes and
 * events of the system have a budget each, so that a tenant who causes many of those loses no change.
 */

import { Change, Partition, retryOnConflict, Store } from "@tollgate/store/internal"
import { DateTime, Effect } from "effect"
import type { Event } from "./Event.ts"
import { EventRetention } from "./EventRetention.ts"
import { byOrigin, eventRecords, getOrigin } from "./eventRecords.ts"

/** Maximum events of one budget that one commit drops. */
const batchSize = 500

/** The changes that drop what is too old or too many, if more events are inserted. At most one batch of each budget. */
export const planDrops = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  added: ReadonlyArray<Pick<Event, "actor">>
) {
  const store = yield* Store
  const retention = yield* EventRetention
  const now = yield* DateTime.now
  const budgets = [
    { origin: "change", days: retention.retentionDays, max: retention.maxEventsPerAccount },
    { origin: "system", days: retention.systemRetentionDays, max: retention.maxSystemEventsPerAccount }
  ] as const
  const firsts = yield* eventRecords.pages(
    partition,
    budgets.map(({ origin }) => ({ where: [byOrigin(origin)], offset: 0, limit: 1 }))
  )
  const drops = yield* Effect.forEach(
    budgets,
    Effect.fnUntraced(function* ({ origin, days, max }, index) {
      const { entries, total } = firsts[index] ?? { entries: [], total: 0 }
      const oldestKept = DateTime.subtract(now, { days })
      const excess = total + added.filter((event) => getOrigin(event) === origin).length - max
      const isExpired = ({ occurredOn }: Pick<Event, "occurredOn">) => DateTime.isLessThan(occurredOn, oldestKept)
      if (excess <= 0 && !entries.some(({ value }) => isExpired(value))) return []
      const oldest = { indexTerms: [eventRecords.indexTerm(byOrigin(origin))], offset: 0, limit: batchSize }
      const [page] = yield* store.list(partition, [oldest])
      const dropped: Array<Change> = []
      for (const record of page?.records ?? []) {
        // Those that are too many are dropped whatever they contain: decoding them is most of the cost of a full log.
        if (dropped.length >= excess && !isExpired((yield* eventRecords.decode(record)).value)) break
        dropped.push(Change.Delete({ key: record.key, expect: record.version }))
      }
      return dropped
    })
  )
  return drops.flat()
})

/** Drops all events of an account that are no longer kept. */
export const dropOldEvents = Effect.fnUntraced(function* (accountName: string) {
  const store = yield* Store
  const partition = Partition.forEvents(accountName)
  const dropBatch = Effect.gen(function* () {
    const drops = yield* planDrops(partition, [])
    yield* store.commit(partition, drops)
    return drops.length
  })
  while ((yield* retryOnConflict(dropBatch)) >= batchSize) yield* Effect.yieldNow
})
