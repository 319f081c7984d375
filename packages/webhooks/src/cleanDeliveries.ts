/**
 * Removes what is not needed any more: the deliveries of deleted webhooks, the queue of disabled ones, and old deliveries
 * that have ended.
 */
import { type Entry, Partition, retryOnConflict, Store } from "@tollgate/core/module"
import { Effect } from "effect"
import type { StoredDelivery } from "./Delivery.ts"
import type { StoredWebhook } from "./Webhook.ts"
import { byWebhook, deliveryRecords, finishedOf, newOf, retryingOf, webhookRecords } from "./webhookRecords.ts"

/** Maximum deliveries that one commit removes or ends. */
const batchSize = 200

/** How many deliveries that have ended are kept for each webhook. */
const maxFinished = 1_000

/** Removes a batch of the deliveries of a deleted webhook, and in the end the webhook. Returns whether it is done. */
export const purgeWebhook = Effect.fnUntraced(function* (webhook: Entry<StoredWebhook>) {
  const store = yield* Store
  const { accountName, id } = webhook.value
  const partition = Partition.forEvents(accountName)
  const { entries } = yield* deliveryRecords.page(partition, { where: [byWebhook(id)], offset: 0, limit: batchSize })
  const isLast = entries.length < batchSize
  yield* store.commit(partition, [
    ...entries.map(deliveryRecords.remove),
    ...(isLast ? [webhookRecords.remove(webhook), deliveryRecords.assertAtMost(byWebhook(id), entries.length)] : [])
  ])
  return isLast
})

const toFailed = ({ nextAttemptOn: _, holder: __, ...delivery }: StoredDelivery): StoredDelivery => ({
  ...delivery,
  status: "failed",
  isNew: false
})

/** Ends a batch of the pending deliveries of a disabled webhook. Returns whether there were any. */
export const failPending = Effect.fnUntraced(function* ({ accountName, id }: StoredWebhook) {
  const store = yield* Store
  const partition = Partition.forEvents(accountName)
  const pages = yield* deliveryRecords.pages(
    partition,
    [newOf(id), retryingOf(id)].map((term) => ({ where: [term], offset: 0, limit: batchSize }))
  )
  const entries = pages.flatMap(({ entries }) => entries)
  yield* store.commit(
    partition,
    entries.map((entry) => deliveryRecords.replace(entry, toFailed(entry.value)))
  )
  return entries.length > 0
})

/** Ends all pending deliveries of a disabled webhook, in batches. No more are queued while it is disabled. */
export const failAllPending = (webhook: StoredWebhook) =>
  Effect.repeat(retryOnConflict(failPending(webhook)), { while: (found) => found })

/**
 * Removes a batch of the oldest deliveries that have ended, if there are many more than are kept, or nothing else is to be
 * done. Returns whether it is done.
 */
export const removeOldDeliveries = Effect.fnUntraced(function* (
  { accountName, id }: StoredWebhook,
  { pending, finished }: { readonly pending: number; readonly finished: number }
) {
  const store = yield* Store
  const partition = Partition.forEvents(accountName)
  const excess = finished - maxFinished
  if (excess < (pending > 0 ? batchSize : 1)) return true
  const query = { where: [finishedOf(id)], offset: 0, limit: Math.min(excess, 2 * batchSize) }
  const { entries } = yield* deliveryRecords.page(partition, query)
  // On a conflict, another process removes them.
  yield* Effect.catchTag(
    store.commit(partition, entries.map(deliveryRecords.remove)),
    "StoreConflict",
    () => Effect.void
  )
  return excess === entries.length
})
