import { Tollgate } from "@tollgate/core/effect"
import { Store, type StoreOperations } from "@tollgate/store"
import { Clock, Effect, Layer } from "effect"
import { shiftClock } from "../../core/test/shiftClock.ts"
import { openSharedStore, type SharedStore } from "./sharedStores.ts"

export interface KilledClosingInput {
  readonly shared: SharedStore
  readonly secret: string
  /** How far the clock of the process is ahead. */
  readonly aheadMs: number
  /** The process kills itself before or after this commit that closes periods, counted from 1. 0: never. */
  readonly commit: number
  readonly moment: "before" | "after"
}

/** Does the background work of a server, and dies on the way. Says `ready` when it has started. */
process.once("message", async ({ shared, secret, aheadMs, commit, moment }: KilledClosingInput) => {
  const opened = await openSharedStore(shared)
  let count = 0
  const die = Effect.sync(() => process.kill(process.pid, "SIGKILL")).pipe(Effect.andThen(Effect.never))
  const store: StoreOperations = {
    ...opened,
    commit: (...args) => {
      const [, changes] = args
      const applied = opened.commit(...args)
      const isClosing = changes.some((change) => "key" in change && change.key.startsWith("period-closing/"))
      if (!isClosing || ++count !== commit) return applied
      return moment === "before" ? die : Effect.andThen(Effect.exit(applied), die)
    }
  }
  const services = Tollgate.layer({ secret }).pipe(Layer.provide(Layer.succeed(Store, store)))
  const clock = shiftClock(Clock.Clock.defaultValue(), aheadMs)
  await Effect.runPromise(
    Effect.scoped(
      Effect.andThen(
        Effect.provideService(Layer.build(Layer.fresh(services)), Clock.Clock, clock),
        Effect.andThen(
          Effect.sync(() => process.send?.("ready")),
          Effect.never
        )
      )
    )
  )
})
