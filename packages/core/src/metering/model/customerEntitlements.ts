/**
 * Reads a customer's subscriptions that allow usage, with their plans and the preconditions that detect later changes.
 */
import { DateTime, Effect } from "effect"
import type { Entry } from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { assertCustomerUnchanged, readCustomerVersion } from "./customerRecords.ts"
import * as Entitlement from "./Entitlement.ts"
import { MeteringBucketNotFound } from "./MeteringBucketError.ts"
import { findMeteringBucket } from "./meteringBucketRecords.ts"
import type { StoredPlan } from "./Plan.ts"
import { planRecords, readPlans } from "./planRecords.ts"
import { consumingStatuses, type StoredSubscription } from "./Subscription.ts"
import { byCustomer, byStatus, findSubscription, subscriptionRecords } from "./subscriptionRecords.ts"
import { maxTrialEndStatusLength } from "./Trial.ts"

/** How many of a customer's newest subscriptions in one status are considered. */
const maxPerStatus = 20

export interface CustomerEntitlements {
  /**
   * For the subscriptions in a status that allows usage, newest first. The preconditions of each also fail if any other
   * subscription of the customer, or a plan of a newer one, has changed.
   */
  readonly entitlements: ReadonlyArray<Entitlement.Entitlement>
  /** The number of subscriptions in any status. */
  readonly total: number
}

/**
 * Drops the fields that quotas do not depend on, because they may be large and entitlements are cached. Truncates a
 * long `trialEndStatus`, but to one character more than the longest known value, so that it still matches none.
 */
const keepQuotaFields = (subscription: StoredSubscription): StoredSubscription => {
  const { metadata: _metadata, productKey: _productKey, trialEndStatus, ...value } = subscription
  return trialEndStatus === undefined
    ? value
    : { ...value, trialEndStatus: trialEndStatus.slice(0, maxTrialEndStatusLength + 1) }
}

/** Reads the entitlement of a subscription. */
export const readEntitlement = Effect.fnUntraced(function* (bucketId: string, subscriptionId: string) {
  const bucketEntry = yield* findMeteringBucket(bucketId)
  const { value, version } = yield* findSubscription(bucketId, subscriptionId)
  const plans = yield* readPlans(bucketId, value.planIds)
  return Entitlement.make({ bucketEntry, subscription: { value: keepQuotaFields(value), version }, plans })
})

/** Reads the entitlements of a customer. Fails if the metering bucket belongs to another account. */
export const readEntitlements = Effect.fnUntraced(function* (
  accountName: string,
  bucketId: string,
  customerKey: string
) {
  const bucketEntry = yield* findMeteringBucket(bucketId)
  if (bucketEntry.value.accountName !== accountName) return yield* new MeteringBucketNotFound({ bucketId })
  const customerVersion = yield* readCustomerVersion(bucketId, customerKey)
  const where = [byCustomer(customerKey)]
  const [all, ...byStatuses] = yield* subscriptionRecords.pages(Partition.forMeteringBucket(bucketId), [
    { where, offset: 0, limit: 0 },
    ...consumingStatuses.map((status) => ({
      where: [...where, byStatus(status)],
      offset: 0,
      limit: maxPerStatus,
      descending: true
    }))
  ])
  const subscriptions = byStatuses
    .flatMap(({ entries }) => entries)
    .map(({ value, version }) => ({ value: keepQuotaFields(value), version }))
    // Newest first, also among subscriptions of one status that were created in the same millisecond: sorting is stable.
    .sort((left, right) => DateTime.Order(right.value.createdOn, left.value.createdOn))
  const plans = new Map<string, Entry<StoredPlan>>()
  const planIds = [...new Set(subscriptions.flatMap(({ value }) => value.planIds))]
  for (const plan of yield* readPlans(bucketId, planIds)) plans.set(plan.value.id, plan)
  const getPlans = (ids: ReadonlyArray<string>) => ids.flatMap((id) => plans.get(id) ?? [])
  const newerPlanIds = new Set<string>()
  const entitlements = subscriptions.map((subscription) => {
    const ownPlanIds: ReadonlyArray<string> = subscription.value.planIds
    const extraPreconditions = [
      assertCustomerUnchanged(customerVersion),
      // A newer subscription is passed over if its plans lack a meter, so a change of these plans changes the choice.
      ...getPlans([...newerPlanIds].filter((id) => !ownPlanIds.includes(id))).map(planRecords.assertUnchanged)
    ]
    for (const id of ownPlanIds) newerPlanIds.add(id)
    return Entitlement.make({ bucketEntry, subscription, plans: getPlans(ownPlanIds) }, extraPreconditions)
  })
  return { entitlements, total: all?.total ?? 0 } satisfies CustomerEntitlements
})
