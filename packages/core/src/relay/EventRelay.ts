/**
 * Moves events to the logs of their accounts, and from there to webhooks and hooks, as soon as this process has written
 * them or has taken them over from another one. Accounts take turns.
 */

import { FairSemaphore, getEventsAccount, type Partition, Store, type StoreError } from "@tollgate/store/internal"
import { Context, Effect, Layer } from "effect"
import { Background } from "../jobs/Background.ts"
import { onBackgroundClock, pause } from "../jobs/BackgroundClock.ts"
import { DueWork } from "../jobs/DueWork.ts"
import { HeldWork } from "../jobs/HeldWork.ts"
import type { Processes } from "../jobs/Processes.ts"
import { WorkSignals } from "../jobs/WorkSignals.ts"
import { EventRetention } from "../outbox/EventRetention.ts"
import { eventsJob } from "../outbox/outboxStore.ts"
import { instruments } from "../telemetry/instruments.ts"
import { observeScoped } from "../telemetry/Telemetry.ts"
import { EventSinks } from "./EventSinks.ts"
import { moveEvents } from "./moveEvents.ts"
import { makeRunHooks } from "./runHooks.ts"

/** How long the relay collects events before it moves them, so that many move together. */
const collectFor = "20 millis"
/** How long it then leaves a partition alone. Under load, more events move together and cost less. */
const restFor = "100 millis"
/** The delay after the store failed. */
const retryDelay = "1 second"
/** How long a closing process tries to move its last events and to call its hooks. */
const closingTimeout = "5 seconds"

const concurrency = 4

const make = Effect.gen(function* () {
  if (!(yield* Background)) return
  const store = yield* Store
  const sinks = yield* EventSinks
  // The loop of background work has none of them.
  const withServices = Effect.provideContext(
    Context.make(Store, store).pipe(Context.add(EventSinks, sinks), Context.add(EventRetention, yield* EventRetention))
  )
  const signals = yield* WorkSignals
  const heldWork = yield* HeldWork
  const dueWork = yield* DueWork
  const scope = yield* Effect.scope
  const permits = new FairSemaphore(concurrency)
  /** The partitions on which this process works or, after a failure, will work, and their accounts. */
  const working = new Map<Partition.Partition, string>()
  /** Those of them that have more work since. */
  const workingAgain = new Set<Partition.Partition>()
  const hooks = yield* makeRunHooks
  yield* observeScoped(instruments.eventQueue, () => working.size + signals.count())

  /** Moves the events of an outbox, or starts to deliver those of a log. */
  const work = (partition: Partition.Partition) => {
    const accountName = getEventsAccount(partition)
    return Effect.suspend(() => {
      const finish = heldWork.begin(partition)
      if (accountName === undefined) return Effect.andThen(moveEvents(partition), Effect.sync(finish))
      const runSinks = Effect.forEach(sinks, (sink) => sink.run(accountName), { discard: true })
      // A sink finishes its own work in the log.
      if (sinks.length === 0) finish()
      return Effect.andThen(runSinks, hooks.run(accountName))
    })
  }

  const workInTurn = (partition: Partition.Partition, accountName: string) =>
    // Each in a task of its own: if the store answers at once, all that wait would run in one.
    heldWork.keep(partition, permits.withPermit(accountName, Effect.andThen(Effect.yieldNow, work(partition)))).pipe(
      Effect.andThen(pause(restFor)),
      Effect.catchCause((cause) =>
        Effect.logDebug(`Moving the events of ${partition} failed`, cause).pipe(
          Effect.andThen(pause(retryDelay)),
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
  const startWork = Effect.fnUntraced(function* ([partition, accountName]: readonly [Partition.Partition, string]) {
    if (working.has(partition)) {
      workingAgain.add(partition)
      return
    }
    working.set(partition, accountName)
    yield* Effect.forkIn(workInTurn(partition, accountName), scope)
  })

  yield* dueWork.register({ ...eventsJob, run: (partition) => Effect.as(withServices(work(partition)), undefined) })
  yield* signals.await.pipe(
    Effect.andThen(pause(collectFor)),
    Effect.andThen(Effect.suspend(() => Effect.forEach(signals.take(), startWork, { discard: true }))),
    Effect.forever,
    withServices,
    Effect.forkScoped
  )
  /** Moves the last events of this process, and calls the hooks for them. */
  const finish = Effect.gen(function* () {
    const partitions = new Map([...working, ...signals.take()])
    const outboxes = [...partitions].filter(([partition]) => getEventsAccount(partition) === undefined)
    const turns = new FairSemaphore(concurrency)
    yield* Effect.forEach(outboxes, ([partition, accountName]) => turns.withPermit(accountName, work(partition)), {
      concurrency: "unbounded",
      discard: true
    })
    const logs = [...partitions.keys(), ...signals.take().keys()].flatMap(
      (partition) => getEventsAccount(partition) ?? []
    )
    yield* Effect.forEach(new Set(logs), hooks.run)
    yield* hooks.drain
  })
  // Runs before the fibers are interrupted. Two moves of one partition do no harm.
  yield* Effect.addFinalizer(() =>
    onBackgroundClock(Effect.timeout(finish, closingTimeout)).pipe(Effect.ignoreCause, withServices)
  )
})

/** Runs the relay of this process. */
export const eventRelayLayer: Layer.Layer<never, StoreError, Store | WorkSignals | HeldWork | DueWork | Processes> =
  Layer.effectDiscard(make)
