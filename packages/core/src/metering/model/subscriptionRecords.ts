import { Collection, Partition, type SearchField, toSearchTerms } from "@tollgate/store/internal"
import { Effect, Option } from "effect"
import { dueTerms } from "./dueTerms.ts"
import { getPlanIds } from "./PendingChange.ts"
import { StoredSubscription, type SubscriptionStatus } from "./Subscription.ts"
import { SubscriptionNotFound } from "./SubscriptionError.ts"

/** Index terms. They are stored and cannot change. */
export const byPlan = (planId: string): string => `plan:${planId}`
export const byCustomer = (customerKey: string): string => `customer:${customerKey}`
export const byCustomerExternalId = (customerExternalId: string): string => `customer-external:${customerExternalId}`
export const bySubscriptionExternalId = (subscriptionExternalId: string): string => `external:${subscriptionExternalId}`
export const byPendingChange = (customerKey: string): string => `pending-change:${customerKey}`
export const byUsageOf = (subscriptionId: string): string => `usage-of:${subscriptionId}`
export const byStatus = (status: SubscriptionStatus): string => `status:${status}`

/** What subscriptions are found by, beside their customer. */
export const getSubscriptionSearchFields = (subscription: StoredSubscription): ReadonlyArray<SearchField> => [
  { field: "subscriptionExternalId", texts: [subscription.subscriptionExternalId] },
  { field: "customerExternalId", texts: [subscription.customerExternalId] },
  { field: "id", texts: [subscription.id] }
]

/** Stores subscriptions by id; unique by external id, indexed by customer, status, plan and the times at which they change by themselves. */
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
    ...dueTerms(subscription),
    ...(subscription.pendingChange === undefined ? [] : [byPendingChange(subscription.customerKey)]),
    ...(subscription.usageOf === undefined ? [] : [byUsageOf(subscription.usageOf.subscriptionId)]),
    ...getPlanIds(subscription).map(byPlan)
  ],
  uniqueKeys: (subscription) => [bySubscriptionExternalId(subscription.subscriptionExternalId)],
  searchTerms: (subscription) => toSearchTerms(getSubscriptionSearchFields(subscription))
})

export const findSubscription = Effect.fnUntraced(function* (bucketId: string, subscriptionId: string) {
  const entry = yield* subscriptionRecords.get(Partition.forMeteringBucket(bucketId), subscriptionId)
  return Option.isNone(entry)
    ? yield* new SubscriptionNotFound({ subscriptionId: String(subscriptionId) })
    : entry.value
})
