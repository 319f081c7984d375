import { createTollgate, type UsageEventJson } from "@tollgate/core"
import type { StoreOperations } from "@tollgate/store"
import { Effect } from "effect"
import { openSharedStore, type SharedStore } from "./sharedStores.ts"

export interface KilledBatchInput {
  readonly shared: SharedStore
  readonly secret: string
  readonly bucketId: string
  readonly events: ReadonlyArray<UsageEventJson>
  /** The process kills itself before or after this commit of the batch, counted from 1. */
  readonly commit: number
  readonly moment: "before" | "after"
}

/** Counts a batch, and dies on the way. Says `done` if the batch has fewer commits. */
process.once("message", async ({ shared, secret, bucketId, events, commit, moment }: KilledBatchInput) => {
  const opened = await openSharedStore(shared)
  let [isCounting, count] = [false, 0]
  const die = Effect.sync(() => process.kill(process.pid, "SIGKILL")).pipe(Effect.andThen(Effect.never))
  const store: StoreOperations = {
    ...opened,
    commit: (...args) => {
      const applied = opened.commit(...args)
      if (!isCounting || ++count !== commit) return applied
      return moment === "before" ? die : Effect.andThen(Effect.exit(applied), die)
    }
  }
  const gate = await createTollgate({
    store,
    secret,
    background: false,
    logger: { debug() {}, info() {}, warn() {}, error() {} }
  })
  isCounting = true
  await gate.account("acme").meteringBucket(bucketId).usage.recordEvents(events)
  process.send?.("done")
})
