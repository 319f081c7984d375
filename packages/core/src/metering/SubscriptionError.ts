import { Schema } from "effect"

export class SubscriptionNotFound extends Schema.TaggedError<SubscriptionNotFound>()("SubscriptionNotFound", {
  subscriptionId: Schema.String
}) {
  override get message(): string {
    return `Subscription "${this.subscriptionId}" does not exist in this metering bucket`
  }
}

export class SubscriptionExternalIdTaken extends Schema.TaggedError<SubscriptionExternalIdTaken>()(
  "SubscriptionExternalIdTaken",
  { subscriptionExternalId: Schema.String }
) {
  override get message(): string {
    return `Another subscription in this metering bucket has the subscriptionExternalId "${this.subscriptionExternalId}"`
  }
}
