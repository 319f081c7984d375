/**
 * Calls the hooks of this process. After a start it looks at the logs of all accounts, because events may have arrived
 * while no process had the hooks.
 */

import { accountsDirectory, forEvents, runBestEffort, Store } from "@tollgate/store/internal"
import { Effect, Fiber, FiberSet, Schedule, Stream } from "effect"
import { accountRecords } from "../accounts/accountRecords.ts"
import { onBackgroundClock, pause } from "../jobs/BackgroundClock.ts"
import { HeldWork } from "../jobs/HeldWork.ts"
import { Processes } from "../jobs/Processes.ts"
import { callHook } from "./callHook.ts"
import { EventHooks } from "./EventHooks.ts"
import { registerHook } from "./hookRecords.ts"

const pageSize = 200
/** How many accounts are looked at at a time after a start. */
const concurrency = 20

/** When it goes on after the store failed. */
const retries = Schedule.spaced("2 seconds")

/** How long this process waits for another one that calls a hook, before it looks whether all events were handled. */
const otherDelay = "1 second"

/** `run` starts to call all hooks for the new events of an account. `drain` waits until they are done. */
export const makeRunHooks = Effect.gen(function* () {
  const store = yield* Store
  const heldWork = yield* HeldWork
  const processes = yield* Processes
  const withStore = <A, E>(effect: Effect.Effect<A, E, Store | Processes>) =>
    effect.pipe(Effect.provideService(Store, store), Effect.provideService(Processes, processes))
  const fibers = yield* FiberSet.make()
  const hooks = yield* Effect.forEach(yield* EventHooks, (hook) =>
    Effect.map(registerHook(hook.name), (registeredOn) => ({ hook, registeredOn }))
  )
  /** The accounts whose events are being handled, and whether there is reason to look again afterwards. */
  const running = new Map<string, boolean>()

  const callAll = Effect.fnUntraced(function* (accountName: string) {
    for (;;) {
      running.set(accountName, false)
      const handled = yield* Effect.forEach(hooks, (hook) => callHook({ accountName, ...hook }), {
        concurrency: "unbounded"
      })
      if (handled.includes(false)) yield* pause(otherDelay)
      else if (running.get(accountName) !== true) return
    }
  })

  /** Calls the hooks, unless they are being called: then they are called again afterwards. */
  const runNow = (accountName: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (running.has(accountName)) {
        running.set(accountName, true)
        return Effect.void
      }
      running.set(accountName, false)
      // It keeps its claims until it succeeds, so that no other process could go on.
      const callKept = heldWork.keep(
        forEvents(accountName),
        callAll(accountName).pipe(Effect.retry(retries), onBackgroundClock)
      )
      return runBestEffort(`Calling the hooks of ${accountName}`, callKept).pipe(
        Effect.onInterrupt(() => Effect.sync(() => heldWork.leave(forEvents(accountName)))),
        Effect.ensuring(Effect.sync(() => running.delete(accountName))),
        withStore
      )
    })

  /** In a fiber of its own: a slow hook must not delay other accounts, or webhooks. */
  const run = (accountName: string): Effect.Effect<void> =>
    hooks.length === 0 ? Effect.void : Effect.asVoid(FiberSet.run(fibers, runNow(accountName)))

  const runForAllAccounts = accountRecords.stream(accountsDirectory, { pageSize }).pipe(
    // In the set, so that `drain` waits for it, too.
    Stream.mapEffect(({ value: { name } }) => Effect.flatMap(FiberSet.run(fibers, runNow(name)), Fiber.join), {
      concurrency
    }),
    Stream.runDrain
  )
  if (hooks.length > 0) {
    yield* Effect.forkScoped(withStore(runBestEffort("Looking for events that hooks missed", runForAllAccounts)))
  }
  return { run, drain: FiberSet.awaitEmpty(fibers) }
})
