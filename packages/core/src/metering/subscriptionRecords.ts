import { Effect, Option } from "effect"
import * as Collection from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import { StoredSubscription, type SubscriptionStatus } from "./Subscription.ts"
import { SubscriptionNotFound } from "./SubscriptionError.ts"
import { trialTerms } from "./trialEnds.ts"

export const subscribersOf = (planId: string): string => `plan:${planId}`
export const ofCustomer = (customerKey: string): string => `customer:${customerKey}`
export const ofCustomerExternal = (customerExternalId: string): string => `customer-external:${customerExternalId}`
export const withExternalId = (subscriptionExternalId: string): string => `external:${subscriptionExternalId}`
export const inStatus = (status: SubscriptionStatus): string => `status:${status}`

/** How subscriptions are stored: by id, unique by their external id, listed by what they can be asked for. */
export const subscriptionRecords = Collection.make({
  name: "subscription",
  format: 1,
  schema: StoredSubscription,
  key: (subscription) => subscription.id,
  indexTerms: (subscription) => [
    ofCustomer(subscription.customerKey),
    ofCustomerExternal(subscription.customerExternalId),
    withExternalId(subscription.subscriptionExternalId),
    inStatus(subscription.status),
    ...trialTerms(subscription),
    ...subscription.planIds.map(subscribersOf)
  ],
  uniqueKeys: (subscription) => [withExternalId(subscription.subscriptionExternalId)]
})

export const findSubscription = Effect.fnUntraced(function* (bucketId: string, subscriptionId: string) {
  const found = yield* subscriptionRecords.get(Partition.metering(bucketId), subscriptionId)
  return Option.isNone(found)
    ? yield* new SubscriptionNotFound({ subscriptionId: String(subscriptionId) })
    : found.value
})
