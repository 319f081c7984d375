/**
 * The changes that record an event of a webhook. Webhooks are in the partition of the log, so the event goes into the log
 * at once, with its deliveries to other webhooks, and the log drops what it no longer keeps.
 */
import { type EventType, eventRecords, makeEvent, Partition, planDrops, skipChecks } from "@tollgate/core/module"
import { Effect, Schema } from "effect"
import { planDeliveries } from "./planDeliveries.ts"
import { type StoredWebhook, toWebhook, Webhook } from "./Webhook.ts"
import { readWebhooks } from "./webhookRecords.ts"

const encode = Schema.encodeSync(Webhook, skipChecks)

export const makeWebhookEvent = (type: string, webhook: StoredWebhook) =>
  makeEvent(type, {
    accountName: webhook.accountName,
    subject: { type: "webhook", id: webhook.id },
    data: encode(toWebhook(webhook))
  })

export const recordWebhookEvent = Effect.fnUntraced(function* (
  type: Extract<EventType, `webhook.${string}`>,
  webhook: StoredWebhook
) {
  const event = yield* makeWebhookEvent(type, webhook)
  const others = yield* readWebhooks(webhook.accountName)
  return [
    eventRecords.insert(event),
    ...(yield* planDeliveries([event], others)),
    ...(yield* planDrops(Partition.forEvents(webhook.accountName), [event]))
  ]
})
