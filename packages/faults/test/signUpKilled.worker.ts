import { createTollgate } from "@tollgate/core"
import type { StoreOperations } from "@tollgate/store"
import { Effect } from "effect"
import { openSharedStore, type SharedStore } from "./sharedStores.ts"

export interface KilledSignUpInput {
  readonly shared: SharedStore
  readonly secret: string
  readonly name: string
  readonly bucketId: string
  /** The process kills itself before or after this commit of the sign-up, counted from 1. */
  readonly commit: number
  readonly moment: "before" | "after"
}

/** Signs a consumer up, and dies on the way. Says `done` if the sign-up has fewer commits. */
process.once("message", async ({ shared, secret, name, bucketId, commit, moment }: KilledSignUpInput) => {
  const opened = await openSharedStore(shared)
  let [isSigningUp, count] = [false, 0]
  const die = Effect.sync(() => process.kill(process.pid, "SIGKILL")).pipe(Effect.andThen(Effect.never))
  const store: StoreOperations = {
    ...opened,
    commit: (...args) => {
      const applied = opened.commit(...args)
      if (!isSigningUp || ++count !== commit) return applied
      // Also after a commit that is refused, such as one of a key bucket that is listed already.
      return moment === "before" ? die : Effect.andThen(Effect.exit(applied), die)
    }
  }
  const gate = await createTollgate({
    store,
    secret,
    background: false,
    logger: { debug() {}, info() {}, warn() {}, error() {} }
  })
  isSigningUp = true
  const subscription = { meteringBucket: bucketId, planExternalIds: ["free"] }
  await gate.account("acme").keyBucket("b").consumers.create({ name, subscription }, { withApiKey: true })
  process.send?.("done")
})
