import type { StoredSubscription } from "./Subscription.ts"

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
