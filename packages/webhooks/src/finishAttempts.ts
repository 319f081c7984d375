/**
 * Records the outcomes of attempts: success, or when the next attempt follows. Disables an endpoint that is gone or has
 * failed for days.
 */
import { asSystem, type Change, DueWork, keepRevision, Partition, retryOnConflict, Store } from "@tollgate/core/module"
import { DateTime, Effect } from "effect"
import type { Attempt, StoredDelivery } from "./Delivery.ts"
import { recordWebhookEvent } from "./recordWebhookEvent.ts"
import { nextRetryDelay } from "./retrySchedule.ts"
import type { StoredWebhook } from "./Webhook.ts"
import { deliveriesJob, deliveryRecords, replaceWebhook, webhookRecords } from "./webhookRecords.ts"

/** How long an endpoint may fail before it is disabled. */
const maxFailing = { days: 5 }

const gone = 410

export interface Outcome {
  readonly attempt: Attempt
  readonly retryAfter?: string | undefined
  /** Whether another attempt is useless. */
  readonly isFinal?: boolean
}

export const isSuccess = ({ statusCode = 0 }: Attempt): boolean => statusCode >= 200 && statusCode < 300

/** How many attempts of a delivery are shown, if it is repeated again and again. More than are made without a request. */
const maxAttempts = 50

/** The delivery after the attempt. */
const updateDelivery = Effect.fnUntraced(function* (
  { nextAttemptOn: _, holder: __, ...delivery }: StoredDelivery,
  { attempt, retryAfter, isFinal }: Outcome,
  isDisabled: boolean
): Effect.fn.Return<StoredDelivery> {
  const attempts = [...delivery.attempts, attempt].slice(-maxAttempts)
  // Another process has repeated the attempt.
  if (delivery.status === "succeeded") return { ...delivery, attempts }
  if (isSuccess(attempt)) return { ...delivery, attempts, isNew: false, status: "succeeded" }
  const delay = isFinal === true || isDisabled ? undefined : yield* nextRetryDelay(attempts.length, retryAfter)
  if (delay === undefined) return { ...delivery, attempts, isNew: false, status: "failed" }
  const nextAttemptOn = DateTime.add(yield* DateTime.now, { milliseconds: delay })
  return { ...delivery, attempts, isNew: false, status: "pending", nextAttemptOn }
})

/** The webhook after the attempt: the same object if nothing changes. */
const updateWebhook = (webhook: StoredWebhook, attempt: Attempt, now: DateTime.Utc): StoredWebhook => {
  const { failingSince, ...rest } = webhook
  if (isSuccess(attempt)) return failingSince === undefined ? webhook : rest
  const disable = (disabledReason: string): StoredWebhook => ({
    ...rest,
    state: "disabled",
    disabledReason,
    updatedOn: now
  })
  if (webhook.state === "disabled") return webhook
  if (attempt.statusCode === gone) return disable("The endpoint responded with 410 Gone")
  if (failingSince === undefined) return { ...rest, failingSince: now }
  return DateTime.isLessThan(now, DateTime.add(failingSince, maxFailing))
    ? webhook
    : disable("Every attempt failed for 5 days")
}

export interface FinishedAttempt {
  /** As it was for the attempt. */
  readonly webhook: StoredWebhook
  readonly delivery: StoredDelivery
  readonly outcome: Outcome
}

/** Whether an outcome says something about the endpoint that the webhook has now. */
const isOfEndpoint = (webhook: StoredWebhook, { webhook: attempted, outcome }: FinishedAttempt): boolean =>
  outcome.isFinal !== true && webhook.url === attempted.url

/**
 * Writes the outcomes of attempts of one account in one commit. Returns when the first of the deliveries is attempted
 * again.
 */
export const finishAttempts = Effect.fnUntraced(function* (
  accountName: string,
  finished: ReadonlyArray<FinishedAttempt>
) {
  const store = yield* Store
  const dueWork = yield* DueWork
  const partition = Partition.forEvents(accountName)
  const write = Effect.gen(function* () {
    const now = yield* DateTime.now
    const webhookIds = [...new Set(finished.map(({ webhook }) => webhook.id))]
    const records = yield* store.get(partition, [
      ...webhookIds.map(webhookRecords.recordKey),
      ...finished.map(({ delivery }) => deliveryRecords.recordKey(delivery.id))
    ])
    const changes: Array<Change> = []
    const nextAttempts: Array<DateTime.Utc> = []
    for (const [index, id] of webhookIds.entries()) {
      const record = records[index]
      if (record === undefined) continue
      const entry = yield* webhookRecords.decode(record)
      const attempts = finished.flatMap((attempt, index) => {
        const record = records[webhookIds.length + index]
        return attempt.webhook.id === id && record !== undefined ? [{ attempt, record }] : []
      })
      const updated = attempts.reduce(
        (webhook, { attempt }) =>
          isOfEndpoint(webhook, attempt) ? updateWebhook(webhook, attempt.outcome.attempt, now) : webhook,
        entry.value
      )
      // A delivery that was repeated on request may have two outcomes.
      for (const [, repeated] of Map.groupBy(attempts, ({ record }) => record.key)) {
        const [{ record } = { record: undefined }] = repeated
        if (record === undefined) continue
        const delivery = yield* deliveryRecords.decode(record)
        let value = delivery.value
        for (const { attempt } of repeated) {
          value = yield* updateDelivery(value, attempt.outcome, updated.state === "disabled")
        }
        changes.push(deliveryRecords.replace(delivery, value))
        if (value.nextAttemptOn !== undefined) nextAttempts.push(value.nextAttemptOn)
      }
      if (updated.state !== entry.value.state) {
        changes.push(replaceWebhook(entry, updated), ...(yield* recordWebhookEvent("webhook.disabled", updated)))
      } else if (updated !== entry.value) changes.push(webhookRecords.replace(entry, keepRevision(entry, updated)))
    }
    const next = nextAttempts.length === 0 ? undefined : nextAttempts.reduce(DateTime.min)
    if (next !== undefined) yield* dueWork.ensure(deliveriesJob, partition, Effect.succeed(accountName), next)
    yield* store.commit(partition, changes)
    return next
  })
  return yield* asSystem(retryOnConflict(write))
})
