import { Schema } from "effect"
import { defineError } from "../errors/defineError.ts"

/** `problem` never contains an address that a host name resolved to: it could be one of the internal network. */
export class InvalidWebhookUrl extends defineError<InvalidWebhookUrl>()(
  "InvalidWebhookUrl",
  {
    code: "invalid-webhook-url",
    status: 422,
    title: "Invalid webhook URL",
    detail: ({ problem }) => `Webhooks cannot be sent to this URL: ${problem}`
  },
  { problem: Schema.String }
) {}

export class WebhookNotFound extends defineError<WebhookNotFound>()(
  "WebhookNotFound",
  {
    code: "webhook-not-found",
    status: 404,
    title: "Webhook not found",
    detail: ({ webhookId }) => `Webhook "${webhookId}" does not exist in this account`
  },
  { webhookId: Schema.String }
) {}

export class DeliveryNotFound extends defineError<DeliveryNotFound>()(
  "DeliveryNotFound",
  {
    code: "delivery-not-found",
    status: 404,
    title: "Delivery not found",
    detail: ({ deliveryId }) => `Delivery "${deliveryId}" does not exist in this webhook`
  },
  { deliveryId: Schema.String }
) {}

export class WebhookDisabled extends defineError<WebhookDisabled>()("WebhookDisabled", {
  code: "webhook-disabled",
  status: 409,
  title: "Webhook disabled",
  detail: () => 'Nothing is sent to a disabled webhook. Set its state to "enabled" first.'
}) {}
