/**
 * Converts stored subscriptions for callers.
 */
import { DateTime, Effect } from "effect"
import * as Period from "./Period.ts"
import { readPlans } from "./planRecords.ts"
import type { StoredSubscription, Subscription } from "./Subscription.ts"
import * as Trial from "./Trial.ts"

/** The external ids of plans by their ids, read in one store call. */
export const readExternalIds = (bucketId: string, planIds: ReadonlyArray<string>) =>
  Effect.map(
    readPlans(bucketId, planIds),
    (plans) => new Map(plans.map(({ value }): [string, string] => [value.id, value.planExternalId]))
  )

/** The date that the caller gave, and after it the next one, by the renewal strategy. Otherwise the end of the period. */
const getNextBillingCycle = (
  { nextBillingCycle, quotaResetAnchor, renewalStrategy }: StoredSubscription,
  now: DateTime.Utc
): DateTime.Utc =>
  nextBillingCycle !== undefined && DateTime.isLessThan(now, nextBillingCycle)
    ? nextBillingCycle
    : Period.periodAt(nextBillingCycle ?? quotaResetAnchor, renewalStrategy, now).end

/** A stored subscription with its effective status. */
export const toSubscription = (
  { prorated: _, ...stored }: StoredSubscription,
  externalIds: ReadonlyMap<string, string>,
  now: DateTime.Utc
): Subscription => ({
  ...stored,
  planExternalIds: stored.planIds.map((id) => externalIds.get(id) ?? ""),
  status: Trial.statusAt(stored, now),
  nextBillingCycle: getNextBillingCycle(stored, now)
})
