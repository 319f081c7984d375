import { createTollgate } from "@tollgate/core"
import { openSharedStore, type SharedStore } from "./sharedStores.ts"

export interface KilledLabelsInput {
  readonly shared: SharedStore
  readonly secret: string
  readonly key: string
  readonly meteringBucketId: string
}

/** Uses a key until it is killed, and says after each request how many were allowed. */
process.once("message", async ({ shared, secret, key, meteringBucketId }: KilledLabelsInput) => {
  const gate = await createTollgate({ store: await openSharedStore(shared), secret, background: false })
  const production = gate.account("acme").keyBucket("production")
  const metering = { meteringBucketId, meters: { requests: 1 } }
  for (let count = 1; ; count++) {
    const { allowed } = await production.authorize(key, { metering, labels: { model: `m${count % 3}` } })
    if (!allowed) throw new Error("A request was refused")
    await new Promise((resolve) => process.send?.(count, resolve))
  }
})
