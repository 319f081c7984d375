/**
 * The webhooks of an account and their deliveries, in the partition of its event log.
 */
import { type Change, Collection, type Entry, makeTimeIndex, Partition, type TimeIndex } from "@tollgate/core/module"
import { Effect, Option, Schema } from "effect"
import { type Delivery, StoredDelivery } from "./Delivery.ts"
import { StoredWebhook, WebhookId } from "./Webhook.ts"
import { WebhookNotFound } from "./WebhookError.ts"

export const liveTerm = "live"
export const deletedTerm = "deleted"

export const webhookRecords = Collection.make({
  name: "webhook",
  format: 1,
  schema: StoredWebhook,
  key: ({ id }) => id,
  indexTerms: ({ isDeleted }) => [isDeleted === true ? deletedTerm : liveTerm]
})

/** Replaces a webhook with a change that callers can see. */
export const replaceWebhook = (entry: Entry<StoredWebhook>, { revision: _, ...value }: StoredWebhook): Change =>
  webhookRecords.replace(entry, value)

export const byWebhook = (id: string): string => `webhook:${id}`
/** Deliveries that can be attempted at once. */
export const newOf = (id: string): string => `new:${id}`
/** Deliveries that wait for their next attempt. */
export const retryingOf = (id: string): string => `retrying:${id}`
export const finishedOf = (id: string): string => `finished:${id}`
/** When deliveries of a webhook are attempted next. */
export const dueOf = (id: string): TimeIndex => makeTimeIndex(`due:${id}`, "minute")

const statusTerms = ({ status, isNew, webhookId, nextAttemptOn }: StoredDelivery): ReadonlyArray<string> => {
  if (status !== ("pending" satisfies Delivery["status"])) return [finishedOf(webhookId)]
  if (isNew || nextAttemptOn === undefined) return [newOf(webhookId)]
  return [retryingOf(webhookId), ...dueOf(webhookId).terms(nextAttemptOn)]
}

/** Deliveries that are attempted again at a time. */
export const deliveriesJob = { name: "deliveries" }

export const deliveryRecords = Collection.make({
  name: "delivery",
  format: 1,
  schema: StoredDelivery,
  key: ({ id }) => id,
  indexTerms: (delivery) => [byWebhook(delivery.webhookId), ...statusTerms(delivery)]
})

/** The webhook with this id. Fails if it does not exist. */
export const findWebhook = Effect.fnUntraced(function* (accountName: string, webhookId: string) {
  const entry = Schema.is(WebhookId)(webhookId)
    ? yield* webhookRecords.get(Partition.forEvents(accountName), webhookId)
    : Option.none()
  return Option.isNone(entry) || entry.value.value.isDeleted === true
    ? yield* new WebhookNotFound({ webhookId: String(webhookId) })
    : entry.value
})

/** More than an account may have. */
const maxWebhooks = 1_000

/** All webhooks of an account. */
export const readWebhooks = Effect.fnUntraced(function* (accountName: string) {
  const page = { where: [liveTerm], offset: 0, limit: maxWebhooks }
  const { entries } = yield* webhookRecords.page(Partition.forEvents(accountName), page)
  return entries
})
