/**
 * Reads the deliveries of an account that can be attempted now.
 */
import { DateTime, Effect } from "effect"
import type { Entry, EntryPage } from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import type { StoredDelivery } from "./Delivery.ts"
import type { StoredWebhook } from "./Webhook.ts"
import { deliveryRecords, dueOf, finishedOf, newOf, retryingOf } from "./webhookRecords.ts"

/**
 * How many deliveries that wait for another attempt are read at once. If a webhook has more, those that are due are found
 * by their time; of the current minute at most so many are read, with the ones that are still to come.
 */
const maxRead = 200

/** Deliveries whose time has come, of a webhook that has many that wait. */
const readByTime = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  webhookId: string,
  limit: number,
  now: DateTime.Utc
) {
  const terms = dueOf(webhookId).termsUntil(now)
  const pages = yield* deliveryRecords.pages(
    partition,
    terms.map((term, index) => ({ where: [term], offset: 0, limit: index < terms.length - 1 ? limit : maxRead }))
  )
  return pages.flatMap(({ entries }) => entries)
})

export interface DueDeliveries {
  readonly webhook: Entry<StoredWebhook>
  readonly due: ReadonlyArray<Entry<StoredDelivery>>
  /** When the first of the others that were read is due. */
  readonly nextAttemptOn?: DateTime.Utc | undefined
  /** The number of all deliveries of the webhook that are pending. */
  readonly pending: number
  /** The number of all deliveries of the webhook that have ended. */
  readonly finished: number
}

const empty: EntryPage<StoredDelivery> = { entries: [], total: 0 }

/** For each webhook at most as many deliveries as `countWanted` says, the oldest first. */
export const readDueDeliveries = Effect.fnUntraced(function* (
  accountName: string,
  webhooks: ReadonlyArray<Entry<StoredWebhook>>,
  countWanted: (webhook: StoredWebhook) => number,
  now: DateTime.Utc
): Effect.fn.Return<
  ReadonlyArray<DueDeliveries>,
  Effect.Error<ReturnType<typeof readByTime>>,
  Effect.Services<ReturnType<typeof readByTime>>
> {
  const partition = Partition.forEvents(accountName)
  const limits = webhooks.map(({ value }) => (value.state === "enabled" ? countWanted(value) : 0))
  const pages = yield* deliveryRecords.pages(
    partition,
    webhooks.flatMap(({ value: { id } }, index) => [
      { where: [newOf(id)], offset: 0, limit: limits[index] ?? 0 },
      { where: [retryingOf(id)], offset: 0, limit: (limits[index] ?? 0) > 0 ? maxRead : 0 },
      { where: [finishedOf(id)], offset: 0, limit: 0 }
    ])
  )
  return yield* Effect.forEach(
    webhooks,
    Effect.fnUntraced(function* (webhook, index) {
      const [newPage = empty, retryingPage = empty, finishedPage = empty] = pages.slice(3 * index)
      const limit = limits[index] ?? 0
      const waiting =
        limit > 0 && retryingPage.total > maxRead
          ? yield* readByTime(partition, webhook.value.id, limit, now)
          : retryingPage.entries
      const isDue = ({ value: { nextAttemptOn = now } }: Entry<StoredDelivery>): boolean =>
        DateTime.isLessThanOrEqualTo(nextAttemptOn, now)
      const later = waiting.filter((entry) => !isDue(entry)).flatMap(({ value }) => value.nextAttemptOn ?? [])
      return {
        webhook,
        due: [...waiting.filter(isDue), ...newPage.entries].slice(0, limit),
        nextAttemptOn: later.length === 0 ? undefined : later.reduce(DateTime.min),
        pending: newPage.total + retryingPage.total,
        finished: finishedPage.total
      }
    })
  )
})
