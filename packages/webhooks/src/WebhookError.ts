import { defineError } from "@tollgate/core/module"
import { Schema } from "effect"

/** `problem` never contains an address that a host name resolved to: it could be one of the internal network. */
export class InvalidWebhookUrl extends defineError<InvalidWebhookUrl>()(
  "InvalidWebhookUrl",
  {
    code: "invalid-webhook-url",
    status: 422,
    title: "Invalid webhook URL",
    meaning:
      "Webhooks cannot be sent to this URL: it is not valid, not https, its host does not exist, or it leads to a " +
      "private network.",
    remedy: "Use a public https URL. The operator can allow private networks in the option `webhooks`.",
    detail: ({ problem }) => `Webhooks cannot be sent to this URL: ${problem}`
  },
  { problem: Schema.String.annotate({ description: "Why webhooks cannot be sent to the URL." }) }
) {}

export class WebhookNotFound extends defineError<WebhookNotFound>()(
  "WebhookNotFound",
  {
    code: "webhook-not-found",
    status: 404,
    title: "Webhook not found",
    meaning: "The account has no webhook with this ID.",
    remedy: "Check the ID and the account. List the webhooks to find it.",
    detail: ({ webhookId }) => `Webhook "${webhookId}" does not exist in this account`
  },
  { webhookId: Schema.String.annotate({ description: "The requested ID." }) }
) {}

export class DeliveryNotFound extends defineError<DeliveryNotFound>()(
  "DeliveryNotFound",
  {
    code: "delivery-not-found",
    status: 404,
    title: "Delivery not found",
    meaning: "The webhook has no delivery with this ID. It never had one, or the delivery is no longer kept.",
    remedy: "List the deliveries of the webhook to find one that can be retried.",
    detail: ({ deliveryId }) => `Delivery "${deliveryId}" does not exist in this webhook`
  },
  { deliveryId: Schema.String.annotate({ description: "The requested ID." }) }
) {}

export class WebhookDisabled extends defineError<WebhookDisabled>()("WebhookDisabled", {
  code: "webhook-disabled",
  status: 409,
  title: "Webhook disabled",
  meaning:
    "The webhook is disabled: by an update, after 5 days of failed attempts, or because its endpoint responded with " +
    "410. Nothing is sent to it.",
  remedy: "Repair the endpoint, set `state` to `enabled`, and repeat the request.",
  detail: () => 'Nothing is sent to a disabled webhook. Set its state to "enabled" first.'
}) {}
