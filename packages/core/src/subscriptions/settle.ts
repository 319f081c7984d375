/**
 * Writes down what has become of trials that are over, before anybody lists by status.
 */
import { type DateTime, Effect } from "effect"
import type { Entry } from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import * as Customer from "./customerRecords.ts"
import type { StoredSubscription } from "./Subscription.ts"
import { inStatus, subscriptionRecords } from "./subscriptionRecords.ts"
import * as Trial from "./Trial.ts"

const readAtOnce = 1_000

/** The trials that are over and not yet written so. */
const overdueIn = Effect.fnUntraced(function* (bucketId: string, now: DateTime.Utc) {
  const overdue: Array<Entry<StoredSubscription>> = []
  let total = 1
  for (let offset = 0; offset < total; offset += readAtOnce) {
    const where = [inStatus("trialing")]
    const page = yield* subscriptionRecords.page(Partition.metering(bucketId), {
      where,
      offset,
      limit: readAtOnce
    })
    overdue.push(...page.entries.filter(({ value }) => Trial.isOverdue(value, now)))
    total = page.total
  }
  return overdue
})

export const settle = Effect.fnUntraced(function* (bucketId: string, now: DateTime.Utc) {
  const store = yield* Store
  // Those that were deleted meanwhile move others to where they are passed by: until none is found.
  for (let overdue = yield* overdueIn(bucketId, now); overdue.length > 0; overdue = yield* overdueIn(bucketId, now)) {
    for (const entry of overdue) {
      const settled = { ...entry.value, status: Trial.statusAt(entry.value, now), updatedOn: now }
      const mark = yield* Customer.markOf(bucketId, settled.customerKey)
      const changes = [Customer.changing(mark), subscriptionRecords.replace(entry, settled)]
      // Another process may have been faster, with the same.
      yield* Effect.catchTag(store.commit(Partition.metering(bucketId), changes), "StoreConflict", () => Effect.void)
    }
  }
})
