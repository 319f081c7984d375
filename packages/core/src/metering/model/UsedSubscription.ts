import { Schema } from "effect"
import { type StoredSubscription, Subscription } from "./Subscription.ts"

const { id, status, planIds, subscriptionExternalId, customerExternalId } = Subscription.fields

/** The subscription that a request used, in answers. */
export const UsedSubscriptionResult = Schema.Struct({
  id,
  status,
  planIds,
  subscriptionExternalId,
  customerExternalId
}).annotate({ identifier: "UsedSubscription" })

/** The subscription that a request used. */
export type UsedSubscription = Pick<
  StoredSubscription,
  "id" | "status" | "planIds" | "subscriptionExternalId" | "customerExternalId"
>

/** Frozen: the results of many requests share it. */
export const toUsedSubscription = (
  { id, planIds, subscriptionExternalId, customerExternalId }: StoredSubscription,
  status: StoredSubscription["status"]
): UsedSubscription => Object.freeze({ id, status, planIds, subscriptionExternalId, customerExternalId })
