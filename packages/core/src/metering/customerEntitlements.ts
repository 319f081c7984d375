/**
 * What a customer may consume by: the newest of the subscriptions that may, with their plans, read together with what
 * tells later whether it is still so.
 */
import { DateTime, Effect } from "effect"
import type { Entry } from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import { assertCustomerUnchanged, readCustomerVersion } from "./customerRecords.ts"
import * as Entitlement from "./Entitlement.ts"
import { MeteringBucketNotFound } from "./MeteringBucket.ts"
import { findMeteringBucket } from "./meteringBucketRecords.ts"
import type { StoredPlan } from "./Plan.ts"
import { planRecords } from "./planRecords.ts"
import type { StoredSubscription, SubscriptionStatus } from "./Subscription.ts"
import { inStatus, ofCustomer, subscriptionRecords } from "./subscriptionRecords.ts"
import { longestTrialEndStatus } from "./Trial.ts"

/** How many of a customer's subscriptions in one state are looked at, from the newest. */
const maxPerStatus = 20

const consumingStatuses: ReadonlyArray<SubscriptionStatus> = ["active", "trialing", "past-due"]

/** What a customer may consume by, as it was read. */
export interface CustomerEntitlements {
  /** Of the subscriptions in a state that may consume, newest first; each tells whether all of this is still so. */
  readonly entitlements: ReadonlyArray<Entitlement.Entitlement>
  /** How many subscriptions there are in any state. */
  readonly total: number
}

/** What counts for quotas; the rest may be large, and is remembered for many. */
export const quotaFields = (subscription: StoredSubscription): StoredSubscription => {
  const { metadata: _, productKey: __, trialEndStatus, ...value } = subscription
  return trialEndStatus === undefined
    ? value
    : { ...value, trialEndStatus: trialEndStatus.slice(0, longestTrialEndStatus + 1) }
}

/** The plans of these ids, as they are. */
export const plansOf = Effect.fnUntraced(function* (bucketId: string, planIds: ReadonlyArray<string>) {
  const store = yield* Store
  const records = yield* store.get(Partition.metering(bucketId), planIds.map(planRecords.recordKey))
  return yield* Effect.forEach(
    records.filter((record) => record !== undefined),
    planRecords.decode
  )
})

/** A customer's newest subscriptions in a state. */
const newestByStatus = Effect.fnUntraced(function* (bucketId: string, customerKey: string, status: SubscriptionStatus) {
  const where = [ofCustomer(customerKey), inStatus(status)]
  const partition = Partition.metering(bucketId)
  const first = yield* subscriptionRecords.page(partition, { where, offset: 0, limit: maxPerStatus })
  if (first.total <= maxPerStatus) return first.entries
  const offset = first.total - maxPerStatus
  return (yield* subscriptionRecords.page(partition, { where, offset, limit: maxPerStatus })).entries
})

export const readEntitlements = Effect.fnUntraced(function* (
  accountName: string,
  bucketId: string,
  customerKey: string
) {
  const root = yield* findMeteringBucket(bucketId)
  if (root.value.accountName !== accountName) return yield* new MeteringBucketNotFound({ bucketId })
  const mark = yield* readCustomerVersion(bucketId, customerKey)
  const where = [ofCustomer(customerKey)]
  const { total } = yield* subscriptionRecords.page(Partition.metering(bucketId), { where, offset: 0, limit: 0 })
  const found = yield* Effect.forEach(consumingStatuses, (status) => newestByStatus(bucketId, customerKey, status))
  const subscriptions = found
    .flat()
    .map(({ value, version }) => ({ value: quotaFields(value), version }))
    .reverse()
    .sort((left, right) => DateTime.Order(right.value.createdOn, left.value.createdOn))
  const plans = new Map<string, Entry<StoredPlan>>()
  const planIds = [...new Set(subscriptions.flatMap(({ value }) => value.planIds))]
  for (const plan of yield* plansOf(bucketId, planIds)) plans.set(plan.value.id, plan)
  const entitlements = subscriptions.map((subscription) => {
    const subscribedPlans = subscription.value.planIds.flatMap((id) => plans.get(id) ?? [])
    return Entitlement.make({ root, subscription, plans: subscribedPlans }, [assertCustomerUnchanged(mark)])
  })
  return { entitlements, total } satisfies CustomerEntitlements
})
