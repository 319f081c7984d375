/**
 * Reads the deliveries of an account that can be attempted now.
 */
import { type Entry, type EntryPage, Partition, Processes, type Store, type StoreError } from "@tollgate/core/module"
import { DateTime, Effect } from "effect"
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

/** When deliveries are looked at again that other processes attempt, or that are too many to read all of them. */
const lookAgain = { seconds: 10 }

export interface DueDeliveries {
  readonly webhook: Entry<StoredWebhook>
  readonly due: ReadonlyArray<Entry<StoredDelivery>>
  /** When the first of the others may be due, if there are others. */
  readonly nextAttemptOn?: DateTime.Utc | undefined
  /** The number of deliveries that wait for their first attempt. */
  readonly unattempted: number
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
): Effect.fn.Return<ReadonlyArray<DueDeliveries>, StoreError, Store | Processes> {
  const partition = Partition.forEvents(accountName)
  const processes = yield* Processes
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
      const isDue = ({ value: { nextAttemptOn = now, holder } }: Entry<StoredDelivery>): boolean =>
        DateTime.isLessThanOrEqualTo(nextAttemptOn, now) || (holder !== undefined && holder !== processes.getId())
      // Those that another process attempts are its own affair while it lives, whatever the time: its clock may be another.
      const holders = new Set(waiting.flatMap(({ value: { holder } }) => holder ?? []))
      const living = new Set(yield* Effect.filter(holders, processes.isAlive))
      const isElsewhere = ({ value: { holder } }: Entry<StoredDelivery>): boolean =>
        holder !== undefined && holder !== processes.getId() && living.has(holder)
      const own = waiting.filter((entry) => !isElsewhere(entry))
      const due = [...own.filter(isDue), ...newPage.entries]
      const later = own.filter((entry) => !isDue(entry)).flatMap(({ value }) => value.nextAttemptOn ?? [])
      const isMore = due.length > limit || own.length < retryingPage.total
      const times = [...later, ...(isMore ? [DateTime.add(now, lookAgain)] : [])]
      return {
        webhook,
        due: due.slice(0, limit),
        nextAttemptOn: times.length === 0 ? undefined : times.reduce(DateTime.min),
        unattempted: newPage.total,
        pending: newPage.total + retryingPage.total,
        finished: finishedPage.total
      }
    })
  )
})
