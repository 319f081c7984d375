/**
 * Moves events to the logs of their accounts, and from there to webhooks and hooks: those of this process at once, and
 * those that other processes left behind within seconds. Accounts take turns.
 */
import { Clock, Effect, Layer } from "effect"
import { outboxRecords } from "../outbox/outboxRecords.ts"
import { RelaySignals } from "../outbox/RelaySignals.ts"
import { FairSemaphore } from "../runtime/FairSemaphore.ts"
import { getEventsAccount, type Partition } from "../store/Partition.ts"
import { liveClock } from "../store/retryOnConflict.ts"
import { Store } from "../store/Store.ts"
import type { StoreError } from "../store/StoreError.ts"
import { instruments } from "../telemetry/instruments.ts"
import { observeScoped } from "../telemetry/Telemetry.ts"
import { DeliveryWorker } from "../webhooks/DeliveryWorker.ts"
import { moveEvents } from "./moveEvents.ts"
import { makePollPending, type Work } from "./pollPending.ts"
import { makeRunHooks } from "./runHooks.ts"

/** How long the relay collects events before it moves them, so that many move together. */
const collectFor = "20 millis"
/** How long it then leaves a partition alone. Under load, more events move together and cost less. */
const restFor = "100 millis"
/** How often it looks for the events of other processes. */
const pollInterval = "10 seconds"
/** The delay after the store failed. */
const retryDelay = "1 second"
/** How long a closing process tries to move its last events and to call its hooks. */
const closingTimeout = "5 seconds"

const concurrency = 4

/** Delays pass on the real clock, also in a test that stops its own. */
const withLiveClock = Effect.provideService(Clock.Clock, liveClock)

const make = Effect.gen(function* () {
  const store = yield* Store
  const withStore = Effect.provideService(Store, store)
  const signals = yield* RelaySignals
  const scope = yield* Effect.scope
  const permits = new FairSemaphore(concurrency)
  /** The partitions on which this process works or, after a failure, will work, and their accounts. */
  const working = new Map<Partition, string>()
  /** Those of them that have more work since. */
  const workingAgain = new Set<Partition>()
  const hooks = yield* makeRunHooks
  const { deliver } = yield* DeliveryWorker
  yield* observeScoped(instruments.eventQueue, () => working.size + signals.count())

  /** Moves the events of an outbox, or delivers those of a log. Returns the amount of work that was found. */
  const work: Work = (partition) => {
    const accountName = getEventsAccount(partition)
    return accountName === undefined
      ? moveEvents(partition)
      : Effect.zipWith(deliver(accountName), hooks.run(accountName), (deliveries, hooks) => deliveries + hooks)
  }

  /** Looks at a partition of another process. Events in its outbox then wait for their turn, like those of this one. */
  const look: Work = (partition, accountName) =>
    getEventsAccount(partition) === undefined
      ? Effect.map(outboxRecords.page(partition, { offset: 0, limit: 0 }), ({ total }) => {
          if (total > 0) signals.add(partition, accountName)
          return total
        })
      : work(partition, accountName)

  const workInTurn = (partition: Partition, accountName: string) =>
    permits.withPermit(accountName, work(partition, accountName)).pipe(
      Effect.andThen(withLiveClock(Effect.sleep(restFor))),
      Effect.catchCause((cause) =>
        Effect.logDebug(`Moving the events of ${partition} failed`, cause).pipe(
          Effect.andThen(withLiveClock(Effect.sleep(retryDelay))),
          Effect.andThen(Effect.sync(() => workingAgain.add(partition)))
        )
      ),
      Effect.andThen(
        Effect.sync(() => {
          working.delete(partition)
          if (workingAgain.delete(partition)) signals.add(partition, accountName)
        })
      )
    )

  /** Each partition has a fiber of its own, so that a slow one delays no other. */
  const startWork = Effect.fnUntraced(function* ([partition, accountName]: readonly [Partition, string]) {
    if (working.has(partition)) {
      workingAgain.add(partition)
      return
    }
    working.set(partition, accountName)
    yield* Effect.forkIn(workInTurn(partition, accountName), scope)
  })

  yield* makePollPending(look).pipe(
    Effect.catchCause((cause) => Effect.logDebug("Looking for events failed", cause)),
    Effect.andThen(withLiveClock(Effect.sleep(pollInterval))),
    Effect.forever,
    withStore,
    Effect.forkScoped
  )
  yield* signals.await.pipe(
    Effect.andThen(withLiveClock(Effect.sleep(collectFor))),
    Effect.andThen(Effect.suspend(() => Effect.forEach(signals.take(), startWork, { discard: true }))),
    Effect.forever,
    withStore,
    Effect.forkScoped
  )
  /** Moves the last events of this process, and calls the hooks for them. */
  const finish = Effect.gen(function* () {
    const partitions = new Map([...working, ...signals.take()])
    const outboxes = [...partitions].filter(([partition]) => getEventsAccount(partition) === undefined)
    const turns = new FairSemaphore(concurrency)
    yield* Effect.forEach(
      outboxes,
      ([partition, accountName]) => turns.withPermit(accountName, moveEvents(partition)),
      { concurrency: "unbounded", discard: true }
    )
    const logs = [...partitions.keys(), ...signals.take().keys()].flatMap(
      (partition) => getEventsAccount(partition) ?? []
    )
    yield* Effect.forEach(new Set(logs), hooks.run)
    yield* hooks.drain
  })
  // Runs before the fibers are interrupted. Two moves of one partition do no harm.
  yield* Effect.addFinalizer(() =>
    finish.pipe(Effect.timeout(closingTimeout), withLiveClock, Effect.ignoreCause, withStore)
  )
})

/** Runs the relay of this process. */
export const eventRelayLayer: Layer.Layer<never, StoreError, Store | RelaySignals | DeliveryWorker> =
  Layer.effectDiscard(make)
