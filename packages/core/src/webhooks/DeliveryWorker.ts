/**
 * Attempts the deliveries of webhooks. Any number of processes may do so: each claims deliveries before it attempts them,
 * and if it dies, another process repeats the attempts when the claim has expired.
 */
import { Clock, Context, DateTime, Effect, FiberSet, Layer } from "effect"
import { SecretBox } from "../crypto/SecretBox.ts"
import { EventRetention } from "../outbox/EventRetention.ts"
import { makeBatches } from "../runtime/makeBatches.ts"
import { runBestEffort } from "../runtime/runBestEffort.ts"
import * as Partition from "../store/Partition.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { Store } from "../store/Store.ts"
import type { StoreError } from "../store/StoreError.ts"
import { instruments } from "../telemetry/instruments.ts"
import { observeScoped } from "../telemetry/Telemetry.ts"
import { attemptDelivery } from "./attemptDelivery.ts"
import { claimDeliveries } from "./claimDeliveries.ts"
import { failPending, purgeWebhook, removeOldDeliveries } from "./cleanDeliveries.ts"
import { type ClaimedDelivery, makeDeliveryLanes } from "./deliveryLanes.ts"
import { finishAttempts } from "./finishAttempts.ts"
import { measureAttempt } from "./measureAttempt.ts"
import { readDueDeliveries } from "./readDueDeliveries.ts"
import type { StoredWebhook } from "./Webhook.ts"
import { WebhookConfig } from "./WebhookConfig.ts"
import { deletedTerm, liveTerm, webhookRecords } from "./webhookRecords.ts"

const maxWebhooks = 1_000
/** How many accounts a process remembers the next attempt of. It finds those of the others when it polls. */
const maxTimers = 10_000
/** How much of a claim must be left for an attempt: its timeout, and time to write the outcome. */
const attemptMs = 20_000
/** Maximum outcomes in one commit. */
const maxOutcomes = 100

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const lanes = makeDeliveryLanes()
  const fibers = yield* FiberSet.make()
  const withStore = Effect.provideService(Store, store)
  const withConfig = Effect.provideContext(
    Context.make(WebhookConfig, yield* WebhookConfig).pipe(Context.add(EventRetention, yield* EventRetention))
  )
  const finish = makeBatches(finishAttempts, maxOutcomes)
  /** The accounts whose deliveries are being started, and whether there is reason to look again afterwards. */
  const running = new Map<string, boolean>()
  /** The accounts that have more to send than there were slots for. */
  const waiting = new Set<string>()
  /** The time of the next attempt of each account, in milliseconds. */
  const timers = new Map<string, number>()
  yield* observeScoped(instruments.webhookQueue, lanes.count)

  const attempt = (webhook: StoredWebhook, claimed: ClaimedDelivery): ReturnType<typeof attemptOnce> =>
    // Nothing was attempted, and the endpoint is not to blame: it is tried again as long as the claim lasts.
    Effect.catchTag(attemptOnce(webhook, claimed), "ResolverBusy", () => attempt(webhook, claimed))

  const attemptOnce = (webhook: StoredWebhook, { delivery, event, claimedUntil }: ClaimedDelivery) =>
    Effect.gen(function* () {
      // Another process may be about to claim it. This one looks again then, too.
      if (claimedUntil - (yield* Clock.currentTimeMillis) < attemptMs) {
        yield* wakeAt(webhook.accountName, claimedUntil)
        return 0
      }
      const outcome = yield* measureAttempt(attemptDelivery(secretBox, webhook, event))
      const nextAttemptOn = yield* finish(webhook.accountName, { webhook, delivery, outcome })
      if (nextAttemptOn !== undefined) yield* wakeAt(webhook.accountName, DateTime.toEpochMillis(nextAttemptOn))
      return outcome.attempt.durationMs
    })

  const runAttempt = (webhook: StoredWebhook, claimed: ClaimedDelivery): Effect.Effect<void> => {
    let durationMs = Number.POSITIVE_INFINITY
    const run = Effect.tap(attempt(webhook, claimed), (duration) =>
      Effect.sync(() => {
        durationMs = duration
      })
    )
    return runBestEffort(`The delivery ${claimed.delivery.id}`, run.pipe(withStore, withConfig)).pipe(
      Effect.andThen(Effect.suspend(() => continueAfter(webhook, lanes.release(webhook, durationMs))))
    )
  }

  /** Uses the slot that has become free, and looks for more deliveries of the webhook if it has none. */
  const continueAfter = ({ accountName }: StoredWebhook, isEmpty: boolean): Effect.Effect<void> =>
    Effect.gen(function* () {
      const [longestWaiting = accountName] = waiting
      waiting.delete(longestWaiting)
      if (longestWaiting !== accountName) yield* start(longestWaiting)
      yield* startAttempts
      if (isEmpty) yield* start(accountName)
    })

  const startAttempts: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach(lanes.takeAll(), ({ webhook, claimed }) => FiberSet.run(fibers, runAttempt(webhook, claimed)), {
      discard: true
    })
  )

  /** Looks again when the next attempt of an account is due. */
  const wakeAt = (accountName: string, time: number): Effect.Effect<void> =>
    Effect.gen(function* () {
      const planned = timers.get(accountName)
      if ((planned !== undefined && planned <= time) || timers.size >= maxTimers) return
      timers.set(accountName, time)
      const delay = time - (yield* Clock.currentTimeMillis)
      const wake = Effect.suspend(() => {
        if (timers.get(accountName) !== time) return Effect.void
        timers.delete(accountName)
        return start(accountName)
      })
      yield* FiberSet.run(fibers, Effect.andThen(Effect.sleep(Math.max(0, delay)), wake))
    })

  /**
   * Cleans up a batch, and starts what is due as far as there are free slots. Returns the number of deliveries to be made,
   * and whether all is cleaned up.
   */
  const startDue = Effect.fnUntraced(function* (accountName: string) {
    const [live, deleted] = yield* webhookRecords.pages(
      Partition.forEvents(accountName),
      [liveTerm, deletedTerm].map((term) => ({ where: [term], offset: 0, limit: maxWebhooks }))
    )
    const purged = yield* Effect.forEach(deleted?.entries ?? [], purgeWebhook)
    const webhooks = live?.entries ?? []
    lanes.update(
      accountName,
      webhooks.map(({ value }) => value)
    )
    const now = yield* DateTime.now
    const queues = webhooks.length === 0 ? [] : yield* readDueDeliveries(accountName, webhooks, lanes.countWanted, now)
    if (queues.some(({ pending, webhook }) => pending > 0 && lanes.isBlocked(webhook.value))) waiting.add(accountName)
    const cleaned: Array<boolean> = []
    for (const queue of queues) {
      const { pending, webhook } = queue
      if (pending > 0 && webhook.value.state === "disabled") cleaned.push(!(yield* failPending(webhook.value)))
      cleaned.push(yield* removeOldDeliveries(webhook.value, queue))
      if (queue.nextAttemptOn !== undefined) yield* wakeAt(accountName, DateTime.toEpochMillis(queue.nextAttemptOn))
    }
    const due = queues.flatMap(({ due }) => due)
    const claimed = due.length === 0 ? [] : yield* claimDeliveries(accountName, due, now)
    for (const { webhook } of queues) {
      const own = claimed.filter(({ delivery }) => delivery.webhookId === webhook.value.id)
      if (own.length > 0) lanes.add(webhook.value, own)
    }
    yield* startAttempts
    const pending = queues.reduce((sum, queue) => sum + queue.pending, 0)
    return { pending, isClean: [...purged, ...cleaned].every((isDone) => isDone) }
  })

  const deliver = (accountName: string): Effect.Effect<number, StoreError> =>
    Effect.suspend(() => {
      if (running.has(accountName)) {
        running.set(accountName, true)
        return Effect.succeed(1)
      }
      running.set(accountName, false)
      const startAll = Effect.gen(function* () {
        for (;;) {
          running.set(accountName, false)
          const { pending, isClean } = yield* retryOnConflict(startDue(accountName))
          if (running.get(accountName) !== true && isClean) return pending
        }
      })
      return Effect.ensuring(
        withStore(startAll),
        Effect.sync(() => running.delete(accountName))
      )
    })

  const start = (accountName: string): Effect.Effect<void> =>
    runBestEffort(`Delivering webhooks of ${accountName}`, deliver(accountName))

  return DeliveryWorker.of({ deliver })
})

export class DeliveryWorker extends Context.Service<
  DeliveryWorker,
  {
    /** Starts the deliveries of an account that are due. Returns how many are still to be made. */
    readonly deliver: (accountName: string) => Effect.Effect<number, StoreError>
  }
>()("@tollgate/core/webhooks/DeliveryWorker") {
  static readonly layer = Layer.effect(DeliveryWorker, make)
}
