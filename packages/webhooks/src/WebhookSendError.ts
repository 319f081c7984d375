import { Schema } from "effect"

/** One attempt to send a webhook failed before a complete response. Tenants see `reason` in their deliveries. */
export class WebhookSendError extends Schema.TaggedError<WebhookSendError>()("WebhookSendError", {
  reason: Schema.String
}) {
  override get message(): string {
    return this.reason
  }
}
