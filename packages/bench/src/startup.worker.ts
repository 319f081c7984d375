import { createTollgate } from "@tollgate/core"
import { SqliteStore } from "@tollgate/sqlite"
import { account, secret } from "./keys.ts"

process.once("message", async ({ path, bucket, key }: { path: string; bucket: string; key: string }) => {
  const store = await SqliteStore.open(path)
  const gate = await createTollgate({ store, secret })
  const { valid } = await gate.account(account).keyBucket(bucket).verify(key)
  if (!valid) throw new Error("the key is not valid")
  process.send?.(process.memoryUsage().rss)
})
