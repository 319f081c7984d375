import type { EventJson } from "../../../outbox/Event.ts"
import type { DeliveryJson } from "../../../webhooks/Delivery.ts"
import type { WebhookJson } from "../../../webhooks/Webhook.ts"
import { created, exampleId, exampleTokenId, generatedDates, otherExampleId, pageOf, updated } from "./common.ts"
import type { AllExamples } from "./Examples.ts"
import { alice } from "./keys.ts"

const event: EventJson = {
  id: exampleId("evt"),
  type: "consumer.created",
  occurredOn: created,
  accountName: "acme",
  actor: { type: "token", id: exampleTokenId },
  subject: { type: "consumer", id: alice.id, name: alice.name },
  data: { ...alice }
}

/** Abbreviated, so that no scanner takes it for a secret. */
const secret = "whsec_…"

const webhookInput = { url: "https://example.com/hooks", events: ["consumer.*"], description: "CRM" } as const
const webhook: WebhookJson = { id: exampleId("whk"), ...generatedDates, ...webhookInput, state: "enabled" }

const delivery: DeliveryJson = {
  id: exampleId("dlv"),
  eventId: event.id,
  type: event.type,
  status: "succeeded",
  attempts: [{ startedOn: "2026-11-16T09:30:00.400Z", durationMs: 84, statusCode: 204 }]
}

export const events: AllExamples["events"] = {
  list: { response: pageOf(event) }
}

export const webhooks: AllExamples["webhooks"] = {
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
