/**
 * A process that causes events, and delivers webhooks until it is killed.
 */

import { createTollgate } from "@tollgate/core"
import { webhooks } from "@tollgate/webhooks"
import { openSharedStore, type SharedStore } from "./sharedStores.ts"

interface Input {
  readonly shared: SharedStore
  readonly secret: string
  /** How many keys to create. */
  readonly count: number
}

process.once("message", async ({ shared, secret, count }: Input) => {
  const store = await openSharedStore(shared)
  const gate = await createTollgate({ store, secret, modules: [webhooks({ allowPrivateNetworks: true })] })
  const { keys } = gate.account("acme").keyBucket("production")
  await keys.createMany(
    "alice",
    Array.from({ length: count }, () => ({}))
  )
})
