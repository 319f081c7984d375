import { createTollgate } from "@tollgate/core"
import { runAsWorker } from "@tollgate/testing"
import { type MixedLoadInput, runMixedLoad } from "./mixedLoad.ts"
import { openSharedStore, type SharedStore } from "./sharedStores.ts"

export interface MixedLoadWorkerInput extends MixedLoadInput {
  readonly shared: SharedStore
  readonly secret: string
}

runAsWorker(async ({ shared, secret, ...input }: MixedLoadWorkerInput) => {
  const store = await openSharedStore(shared)
  const gate = await createTollgate({ store, secret })
  const result = await runMixedLoad(gate, input)
  await gate.close()
  await store.close()
  return result
})
