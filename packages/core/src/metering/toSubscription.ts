/**
 * Converts stored subscriptions for callers.
 */
import type { DateTime } from "effect"
import { Effect } from "effect"
import * as Partition from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import * as Period from "./Period.ts"
import { planRecords } from "./planRecords.ts"
import type { StoredSubscription, Subscription } from "./Subscription.ts"
import * as Trial from "./Trial.ts"

/** The external ids of plans by their ids, read in one store call. */
export const readExternalIds = Effect.fnUntraced(function* (bucketId: string, planIds: ReadonlyArray<string>) {
  const store = yield* Store
  const records = yield* store.get(Partition.forMeteringBucket(bucketId), planIds.map(planRecords.recordKey))
  const externalIds = new Map<string, string>()
  for (const record of records) {
    if (record === undefined) continue
    const { value } = yield* planRecords.decode(record)
    externalIds.set(value.id, value.planExternalId)
  }
  return externalIds
})

/** A stored subscription with its effective status. */
export const toSubscription = (
  { prorated: _, nextBillingCycle, ...stored }: StoredSubscription,
  externalIds: ReadonlyMap<string, string>,
  now: DateTime.Utc
): Subscription => ({
  ...stored,
  planExternalIds: stored.planIds.map((id) => externalIds.get(id) ?? ""),
  status: Trial.statusAt(stored, now),
  nextBillingCycle: nextBillingCycle ?? Period.periodAt(stored.quotaResetAnchor, stored.renewalStrategy, now).end
})
