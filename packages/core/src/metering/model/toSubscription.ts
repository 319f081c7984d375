/**
 * Converts stored subscriptions for callers.
 */

import { Partition, type Store, type StoreError } from "@tollgate/store/internal"
import { DateTime, Effect, Option } from "effect"
import { getPlanIds, type PendingChange, type StoredPendingChange } from "./PendingChange.ts"
import * as Period from "./Period.ts"
import { readPlans } from "./planRecords.ts"
import type { StoredSubscription, Subscription } from "./Subscription.ts"
import { subscriptionAt } from "./subscriptionAt.ts"
import { subscriptionRecords } from "./subscriptionRecords.ts"

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

/** A stored subscription as it is at a time. */
export const toSubscription = (
  stored: StoredSubscription,
  externalIds: ReadonlyMap<string, string>,
  now: DateTime.Utc
): Subscription => {
  const { prorated: _, canceledOn: __, usageOf: ___, pendingChange, ...subscription } = subscriptionAt(stored, now)
  const toExternalIds = (ids: ReadonlyArray<string>) => ids.map((id) => externalIds.get(id) ?? "")
  return {
    ...subscription,
    planExternalIds: toExternalIds(subscription.planIds),
    nextBillingCycle: getNextBillingCycle(subscription, now),
    ...(pendingChange === undefined ? {} : { pendingChange: toPendingChange(pendingChange, toExternalIds) })
  }
}

const toPendingChange = (
  { planIds, ...change }: StoredPendingChange,
  toExternalIds: (ids: ReadonlyArray<string>) => ReadonlyArray<string>
): PendingChange => (planIds === undefined ? change : { ...change, planIds, planExternalIds: toExternalIds(planIds) })

/** Converts stored subscriptions for the caller, with the external ids of their plans. */
export const toSubscriptions = (
  bucketId: string,
  subscriptions: ReadonlyArray<StoredSubscription>,
  now: DateTime.Utc,
  attempts = 3
): Effect.Effect<ReadonlyArray<Subscription>, StoreError, Store> =>
  Effect.gen(function* () {
    const planIds = [...new Set(subscriptions.flatMap(getPlanIds))]
    const externalIds = yield* readExternalIds(bucketId, planIds)
    if (externalIds.size < planIds.length && attempts > 1) {
      // A plan is missing: the subscription moved to another plan after it was read. Read it again.
      const refreshed = yield* Effect.forEach(subscriptions, (subscription) =>
        Effect.map(
          subscriptionRecords.get(Partition.forMeteringBucket(bucketId), subscription.id),
          Option.match({ onNone: () => subscription, onSome: ({ value }) => value })
        )
      )
      return yield* toSubscriptions(bucketId, refreshed, now, attempts - 1)
    }
    return subscriptions.map((subscription) => toSubscription(subscription, externalIds, now))
  })
