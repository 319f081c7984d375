import type { SubscriptionJson } from "../../api/types.ts"

export type SubscriptionStatus = SubscriptionJson["status"]

export const subscriptionStatuses: ReadonlyArray<SubscriptionStatus> = [
  "active",
  "trialing",
  "past-due",
  "inactive",
  "incomplete",
  "incomplete-expired",
  "canceled",
  "unpaid"
]

/** Green for those that allow usage, as the server decides. */
export const getStatusTone = (status: SubscriptionStatus): "good" | "warning" | "neutral" =>
  status === "active" || status === "trialing" ? "good" : status === "past-due" ? "warning" : "neutral"

export const statusOptions = subscriptionStatuses.map((status) => ({ value: status, label: status }))
