import { createTollgate } from "@tollgate/core"
import { runAsWorker } from "@tollgate/testing"
import { type ContentionInput, compete } from "./contention.ts"
import { openSharedStore, type SharedStore } from "./sharedStores.ts"

export interface ContenderInput extends ContentionInput {
  readonly shared: SharedStore
  readonly secret: string
}

/** Runs one contender in its own process, and returns the quota thresholds that it was notified of. */
runAsWorker(async ({ shared, secret, ...input }: ContenderInput) => {
  const thresholds: Array<number> = []
  const store = await openSharedStore(shared)
  const gate = await createTollgate({
    store,
    secret,
    onQuotaThreshold: ({ threshold }) => void thresholds.push(threshold)
  })
  const result = await compete(gate, input)
  await gate.close()
  await store.close()
  return { ...result, thresholds }
})
