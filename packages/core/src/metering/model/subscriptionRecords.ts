import { Effect, Option } from "effect"
import * as Collection from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { StoredSubscription, type SubscriptionStatus } from "./Subscription.ts"
import { SubscriptionNotFound } from "./SubscriptionError.ts"
import { trialTerms } from "./trialEnds.ts"

/** Index terms. They are stored and cannot change. */
export const byPlan = (planId: string): string => `plan:${planId}`
export const byCustomer = (customerKey: string): string => `customer:${customerKey}`
export const byCustomerExternalId = (customerExternalId: string): string => `customer-external:${customerExternalId}`
export const bySubscriptionExternalId = (subscriptionExternalId: string): string => `external:${subscriptionExternalId}`
export const byStatus = (status: SubscriptionStatus): string => `status:${status}`

/** Stores subscriptions by id; unique by external id, indexed by customer, status, plan and end of trial. */
export const subscriptionRecords = Collection.make({
  name: "subscription",
  format: 1,
  schema: StoredSubscription,
  key: (subscription) => subscription.id,
  indexTerms: (subscription) => [
    byCustomer(subscription.customerKey),
    byCustomerExternalId(subscription.customerExternalId),
    bySubscriptionExternalId(subscription.subscriptionExternalId),
    byStatus(subscription.status),
    ...trialTerms(subscription),
    ...subscription.planIds.map(byPlan)
  ],
  uniqueKeys: (subscription) => [bySubscriptionExternalId(subscription.subscriptionExternalId)]
})

export const findSubscription = Effect.fnUntraced(function* (bucketId: string, subscriptionId: string) {
  const entry = yield* subscriptionRecords.get(Partition.forMeteringBucket(bucketId), subscriptionId)
  return Option.isNone(entry)
    ? yield* new SubscriptionNotFound({ subscriptionId: String(subscriptionId) })
    : entry.value
})
