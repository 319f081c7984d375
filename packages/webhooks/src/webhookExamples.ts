import { exampleId, type GroupExamples, generatedDates, otherExampleId, pageOf, updated } from "@tollgate/core/module"
import type { DeliveryJson } from "./Delivery.ts"
import type { WebhookJson } from "./Webhook.ts"
import type { WebhooksApi } from "./WebhooksApi.ts"

/** Abbreviated, so that no scanner takes it for a secret. */
const secret = "whsec_…"

const webhookInput = { url: "https://example.com/hooks", events: ["consumer.*"], description: "CRM" } as const
const webhook: WebhookJson = { id: exampleId("whk"), ...generatedDates, ...webhookInput, state: "enabled" }

const delivery: DeliveryJson = {
  id: exampleId("dlv"),
  eventId: exampleId("evt"),
  type: "consumer.created",
  status: "succeeded",
  attempts: [{ startedOn: "2026-11-16T09:30:00.400Z", durationMs: 84, statusCode: 204 }]
}

/** Examples of the bodies of webhooks. */
export const webhookExamples: GroupExamples<WebhooksApi> = {
  list: { response: pageOf(webhook) },
  create: { request: webhookInput, response: { ...webhook, secret } },
  get: { response: webhook },
  update: { request: { state: "disabled" }, response: { ...webhook, state: "disabled", updatedOn: updated } },
  rotateSecret: { response: { secret } },
  test: {
    response: {
      id: otherExampleId("dlv"),
      eventId: otherExampleId("evt"),
      type: "webhook.test",
      status: "pending",
      attempts: []
    }
  },
  deliveries: { response: pageOf(delivery) },
  retry: { response: { ...delivery, status: "pending" } }
}
