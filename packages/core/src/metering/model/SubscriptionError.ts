import { defineError } from "@tollgate/store/internal"
import { Schema } from "effect"

export class SubscriptionNotFound extends defineError<SubscriptionNotFound>()(
  "SubscriptionNotFound",
  {
    code: "subscription-not-found",
    status: 404,
    title: "Subscription not found",
    meaning: "The metering bucket has no such subscription, or the customer of recorded usage has none.",
    remedy: "Check the ID or the `customerKey`, and the metering bucket.",
    detail: ({ subscriptionId }) =>
      subscriptionId.startsWith("sbsc_")
        ? `Subscription "${subscriptionId}" does not exist in this metering bucket`
        : `No subscription has the id "${subscriptionId}": ids begin with "sbsc_". List the subscriptions of a customer by ` +
          "`customerKey` to find the id."
  },
  {
    subscriptionId: Schema.String.annotate({
      description: "The requested ID. Empty if a customer has no subscription."
    })
  }
) {}

export class PendingChangeNotFound extends defineError<PendingChangeNotFound>()(
  "PendingChangeNotFound",
  {
    code: "pending-change-not-found",
    status: 404,
    title: "Pending change not found",
    meaning: "No subscription of the customer changes at the end of its period, or the change has acted already.",
    remedy: "Read the customer. Change the plan back, if the change has acted.",
    detail: ({ customerKey }) => `No subscription of "${customerKey}" has a pending change`
  },
  { customerKey: Schema.String.annotate({ description: "The requested `customerKey`." }) }
) {}

export class SubscriptionExternalIdTaken extends defineError<SubscriptionExternalIdTaken>()(
  "SubscriptionExternalIdTaken",
  {
    code: "subscription-external-id-taken",
    status: 409,
    title: "subscriptionExternalId already in use",
    meaning: "Another subscription of the metering bucket has this `subscriptionExternalId`.",
    remedy: "Use the existing subscription, or pass another ID.",
    detail: ({ subscriptionExternalId }) =>
      `Another subscription in this metering bucket has the subscriptionExternalId "${subscriptionExternalId}"`
  },
  { subscriptionExternalId: Schema.String.annotate({ description: "The requested `subscriptionExternalId`." }) }
) {}
