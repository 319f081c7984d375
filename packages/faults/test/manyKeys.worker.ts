import { createTollgate } from "@tollgate/core"
import { openSharedStore, type SharedStore } from "./sharedStores.ts"

export interface ManyKeysInput {
  readonly shared: SharedStore
  readonly secret: string
  readonly name: string
  /** The expiry of a roll. Otherwise the consumer is removed. */
  readonly rolled: string | undefined
}

/** Rolls or removes a consumer, says when that is acknowledged, and does the background work of it until it is killed. */
process.once("message", async ({ shared, secret, name, rolled }: ManyKeysInput) => {
  const store = await openSharedStore(shared)
  const gate = await createTollgate({ store, secret })
  const { consumers } = gate.account("acme").keyBucket("b")
  if (rolled === undefined) await consumers.remove(name)
  else await consumers.rollKey(name, { expiresOn: rolled })
  process.send?.("done")
})
