/**
 * The delivery of one event to one webhook.
 */
import { Event, EventId, Id, Timestamp } from "@tollgate/core/module"
import { Schema } from "effect"
import { WebhookId } from "./Webhook.ts"

/** The id of a delivery. It begins with `dlv_`. */
export const DeliveryId = Id("dlv").pipe(Schema.brand("DeliveryId"))
export type DeliveryId = typeof DeliveryId.Type

export const Attempt = Schema.Struct({
  startedOn: Timestamp,
  durationMs: Schema.Int,
  /** The status of the response, if there was one. */
  statusCode: Schema.optionalKey(Schema.Int),
  /** Why there was no response. */
  error: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "DeliveryAttempt" })
export type Attempt = typeof Attempt.Type

const fields = {
  id: DeliveryId,
  eventId: EventId,
  /** The type of the event. */
  type: Schema.String,
  status: Schema.Literals(["pending", "succeeded", "failed"]),
  attempts: Schema.Array(Attempt),
  /** When the delivery is attempted next. A delivery that is being attempted is repeated then, if its process dies. */
  nextAttemptOn: Schema.optionalKey(Timestamp)
}

/** The delivery of one event to one webhook, with its attempts. */
export const Delivery = Schema.Struct(fields).annotate({ identifier: "Delivery" })
export type Delivery = typeof Delivery.Type
/** The delivery of an event to a webhook, as plain JSON. */
export type DeliveryJson = typeof Delivery.Encoded

export const StoredDelivery = Schema.Struct({
  ...fields,
  webhookId: WebhookId,
  /** The process that attempts it, while it lives. */
  holder: Schema.optionalKey(Schema.String),
  /** Whether the delivery waits for its first attempt, or for one that was requested. */
  isNew: Schema.Boolean,
  /** A test event, which is not in the log. */
  event: Schema.optionalKey(Event)
})
export type StoredDelivery = typeof StoredDelivery.Type

export const toDelivery = ({
  webhookId: _webhookId,
  isNew: _isNew,
  holder: _holder,
  event: _event,
  ...delivery
}: StoredDelivery): Delivery => delivery
