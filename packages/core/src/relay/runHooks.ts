/**
 * Calls the hooks of this process. After a start it looks at the logs of all accounts, because events may have arrived
 * while no process had the hooks.
 */
import { Effect, FiberSet, Stream } from "effect"
import { accountRecords } from "../accounts/accountRecords.ts"
import * as Base62 from "../crypto/Base62.ts"
import { runBestEffort } from "../runtime/runBestEffort.ts"
import { accountsDirectory } from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import { callHook } from "./callHook.ts"
import { EventHooks } from "./EventHooks.ts"
import { registerHook } from "./hookRecords.ts"

const pageSize = 200
/** How many accounts are looked at at a time after a start. */
const concurrency = 20

/**
 * `run` starts to call all hooks for the new events of an account, and returns 1 if they are still being called for earlier
 * ones, otherwise 0. `drain` waits until they are done.
 */
export const makeRunHooks = Effect.gen(function* () {
  const store = yield* Store
  const withStore = Effect.provideService(Store, store)
  const fibers = yield* FiberSet.make()
  const holder = yield* Base62.random(22)
  const hooks = yield* Effect.forEach(yield* EventHooks, (hook) =>
    Effect.map(registerHook(hook.name), (registeredOn) => ({ hook, registeredOn, holder }))
  )
  /** The accounts whose events are being handled, and whether there is reason to look again afterwards. */
  const running = new Map<string, boolean>()

  const callAll = Effect.fnUntraced(function* (accountName: string) {
    for (;;) {
      running.set(accountName, false)
      yield* Effect.forEach(hooks, (hook) => callHook({ accountName, ...hook }), { concurrency: "unbounded" })
      if (running.get(accountName) !== true) return
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
      return runBestEffort(`Calling the hooks of ${accountName}`, callAll(accountName)).pipe(
        Effect.ensuring(Effect.sync(() => running.delete(accountName))),
        withStore
      )
    })

  /** In a fiber of its own: a slow hook must not delay other accounts, or webhooks. */
  const run = (accountName: string): Effect.Effect<number> =>
    Effect.suspend(() => {
      if (hooks.length === 0) return Effect.succeed(0)
      const left = running.has(accountName) ? 1 : 0
      return Effect.as(FiberSet.run(fibers, runNow(accountName)), left)
    })

  const runForAllAccounts = accountRecords.stream(accountsDirectory, { pageSize }).pipe(
    Stream.mapEffect(({ value: { name } }) => runNow(name), { concurrency }),
    Stream.runDrain
  )
  if (hooks.length > 0) {
    yield* Effect.forkScoped(withStore(runBestEffort("Looking for events that hooks missed", runForAllAccounts)))
  }
  return { run, drain: FiberSet.awaitEmpty(fibers) }
})
