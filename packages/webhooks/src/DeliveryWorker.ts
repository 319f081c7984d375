/**
 * Attempts the deliveries of webhooks. Any number of processes may do so: each claims deliveries before it attempts them,
 * and if it dies, another process repeats the attempts.
 */
import {
  DueWork,
  EventRetention,
  HeldWork,
  makeBatches,
  observeScoped,
  Partition,
  Processes,
  retryOnConflict,
  runBestEffort,
  SecretBox,
  Store,
  type StoreError
} from "@tollgate/core/module"
import { Clock, Context, DateTime, Effect, FiberSet, Layer } from "effect"
import { attemptDelivery } from "./attemptDelivery.ts"
import { claimDeliveries } from "./claimDeliveries.ts"
import { failPending, purgeWebhook, removeOldDeliveries } from "./cleanDeliveries.ts"
import { type ClaimedDelivery, makeDeliveryLanes } from "./deliveryLanes.ts"
import { finishAttempts } from "./finishAttempts.ts"
import { measureAttempt } from "./measureAttempt.ts"
import { readDueDeliveries } from "./readDueDeliveries.ts"
import type { StoredWebhook } from "./Webhook.ts"
import { WebhookConfig } from "./WebhookConfig.ts"
import { webhookInstruments } from "./webhookInstruments.ts"
import { deletedTerm, deliveriesJob, liveTerm, webhookRecords } from "./webhookRecords.ts"

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
  const heldWork = yield* HeldWork
  const dueWork = yield* DueWork
  const withStore = Effect.provideContext(
    Context.make(Store, store).pipe(Context.add(Processes, yield* Processes), Context.add(DueWork, dueWork))
  )
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
  yield* observeScoped(webhookInstruments.webhookQueue, lanes.count)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const accountName of lanes.accounts()) heldWork.leave(Partition.forEvents(accountName))
    })
  )

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
   * Cleans up a batch, and starts what is due as far as there are free slots. Returns when the next of those that wait is
   * due, and whether all is cleaned up.
   */
  const startDue = Effect.fnUntraced(function* (accountName: string) {
    const finish = heldWork.begin(Partition.forEvents(accountName))
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
    if (queues.every(({ unattempted }) => unattempted === 0)) finish()
    const due = queues.flatMap(({ due }) => due)
    const claimed = due.length === 0 ? [] : yield* claimDeliveries(accountName, due, now)
    for (const { webhook } of queues) {
      const own = claimed.filter(({ delivery }) => delivery.webhookId === webhook.value.id)
      if (own.length > 0) lanes.add(webhook.value, own)
    }
    yield* startAttempts
    const times = queues.flatMap(({ nextAttemptOn }) => nextAttemptOn ?? [])
    const nextAttemptOn = times.length === 0 ? undefined : times.reduce(DateTime.min)
    return { nextAttemptOn, isClean: [...purged, ...cleaned].every((isDone) => isDone) }
  })

  const deliver = (accountName: string): Effect.Effect<DateTime.Utc | undefined, StoreError> =>
    Effect.suspend(() => {
      if (running.has(accountName)) {
        running.set(accountName, true)
        return DateTime.now
      }
      running.set(accountName, false)
      const startAll = Effect.gen(function* () {
        for (;;) {
          running.set(accountName, false)
          const { nextAttemptOn, isClean } = yield* retryOnConflict(startDue(accountName))
          if (running.get(accountName) !== true && isClean) return nextAttemptOn
        }
      })
      return Effect.ensuring(
        withStore(startAll),
        Effect.sync(() => running.delete(accountName))
      )
    })

  const start = (accountName: string): Effect.Effect<void> =>
    runBestEffort(`Delivering webhooks of ${accountName}`, deliver(accountName))

  /** Attempts deliveries again, also those of processes that died. */
  const run = (_: Partition.Partition, accountName: string) => deliver(accountName)
  yield* dueWork.register({ ...deliveriesJob, run })
  return DeliveryWorker.of({ deliver })
})

/** Delivers events to webhooks. */
export class DeliveryWorker extends Context.Service<
  DeliveryWorker,
  {
    /** Starts the deliveries of an account that are due. Returns when the next of those that wait is due. */
    readonly deliver: (accountName: string) => Effect.Effect<DateTime.Utc | undefined, StoreError>
  }
>()("@tollgate/webhooks/DeliveryWorker") {
  static readonly layer = Layer.effect(DeliveryWorker, make)
}
