import { Schema } from "effect"
import { defineError } from "../errors/defineError.ts"

export class SubscriptionNotFound extends defineError<SubscriptionNotFound>()(
  "SubscriptionNotFound",
  {
    code: "subscription-not-found",
    status: 404,
    title: "Subscription not found",
    detail: ({ subscriptionId }) => `Subscription "${subscriptionId}" does not exist in this metering bucket`
  },
  { subscriptionId: Schema.String }
) {}

export class SubscriptionExternalIdTaken extends defineError<SubscriptionExternalIdTaken>()(
  "SubscriptionExternalIdTaken",
  {
    code: "subscription-external-id-taken",
    status: 409,
    title: "subscriptionExternalId already in use",
    detail: ({ subscriptionExternalId }) =>
      `Another subscription in this metering bucket has the subscriptionExternalId "${subscriptionExternalId}"`
  },
  { subscriptionExternalId: Schema.String }
) {}
