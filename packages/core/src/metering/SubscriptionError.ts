import { Schema } from "effect"

export class SubscriptionNotFound extends Schema.TaggedError<SubscriptionNotFound>()("SubscriptionNotFound", {
  subscriptionId: Schema.String
}) {
  override get message(): string {
    return `There is no subscription "${this.subscriptionId}" in this bucket`
  }
}

export class SubscriptionExternalIdTaken extends Schema.TaggedError<SubscriptionExternalIdTaken>()(
  "SubscriptionExternalIdTaken",
  { subscriptionExternalId: Schema.String }
) {
  override get message(): string {
    return `Another subscription of this bucket has the subscriptionExternalId "${this.subscriptionExternalId}"`
  }
}
