/**
 * Plans the deliveries of new events: one for each webhook that receives the type of the event.
 */
import { type Entry, type Event, Ids } from "@tollgate/core/module"
import { Effect } from "effect"
import { DeliveryId, type StoredDelivery } from "./Delivery.ts"
import { receives, type StoredWebhook, type WebhookId } from "./Webhook.ts"
import { deliveryRecords, webhookRecords } from "./webhookRecords.ts"

export const makeDelivery = Effect.fnUntraced(function* (
  webhookId: WebhookId,
  { id: eventId, type }: Pick<Event, "id" | "type">
): Effect.fn.Return<StoredDelivery> {
  const id = DeliveryId.make(yield* Ids.generate("dlv"))
  return { id, webhookId, eventId, type, status: "pending", attempts: [], isNew: true }
})

/**
 * The changes that queue the deliveries. An event about a webhook is not sent to that webhook. The commit fails if a
 * webhook that receives an event has changed, so that nothing is queued for one that was deleted or disabled meanwhile.
 */
export const planDeliveries = Effect.fnUntraced(function* (
  events: ReadonlyArray<Event>,
  webhooks: ReadonlyArray<Entry<StoredWebhook>>
) {
  const plans = webhooks.map((entry) => ({
    entry,
    events: events.filter(({ type, subject }) => receives(entry.value, type) && subject.id !== entry.value.id)
  }))
  const receivers = plans.filter(({ events }) => events.length > 0)
  const deliveries = receivers.flatMap(({ entry, events }) =>
    events.map((event) => Effect.map(makeDelivery(entry.value.id, event), deliveryRecords.insert))
  )
  return [...receivers.map(({ entry }) => webhookRecords.assertUnchanged(entry)), ...(yield* Effect.all(deliveries))]
})
