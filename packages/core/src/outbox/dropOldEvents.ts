/**
 * Finds the events that the log of an account no longer keeps: the oldest ones that are too many or too old.
 */
import { DateTime, Effect } from "effect"
import * as Partition from "../store/Partition.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { Change, Store } from "../store/Store.ts"
import { EventRetention } from "./EventRetention.ts"
import { eventRecords } from "./eventRecords.ts"

/** Maximum events that one commit drops. */
const batchSize = 500

/** The changes that drop what is too old or too many, if `added` more events are inserted. At most one batch. */
export const planDrops = Effect.fnUntraced(function* (partition: Partition.Partition, added: number) {
  const { retentionDays, maxEventsPerAccount } = yield* EventRetention
  const oldestKept = DateTime.subtract(yield* DateTime.now, { days: retentionDays })
  const first = yield* eventRecords.page(partition, { offset: 0, limit: 1 })
  const excess = first.total + added - maxEventsPerAccount
  const isExpired = ({ occurredOn }: { readonly occurredOn: DateTime.Utc }) =>
    DateTime.isLessThan(occurredOn, oldestKept)
  if (excess <= 0 && !first.entries.some(({ value }) => isExpired(value))) return []
  const store = yield* Store
  const oldest = { indexTerms: [eventRecords.indexTerm()], offset: 0, limit: batchSize }
  const [page] = yield* store.list(partition, [oldest])
  const drops: Array<Change> = []
  for (const record of page?.records ?? []) {
    // Those that are too many are dropped whatever they contain: decoding them is most of the cost of a full log.
    if (drops.length >= excess && !isExpired((yield* eventRecords.decode(record)).value)) break
    drops.push(Change.Delete({ key: record.key, expect: record.version }))
  }
  return drops
})

/** Drops all events of an account that are no longer kept. */
export const dropOldEvents = Effect.fnUntraced(function* (accountName: string) {
  const store = yield* Store
  const partition = Partition.forEvents(accountName)
  const dropBatch = Effect.gen(function* () {
    const drops = yield* planDrops(partition, 0)
    yield* store.commit(partition, drops)
    return drops.length
  })
  while ((yield* retryOnConflict(dropBatch)) === batchSize) yield* Effect.yieldNow
})
