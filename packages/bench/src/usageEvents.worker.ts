/**
 * A server process with customers whose usage is counted over HTTP.
 */
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { loadCustomers } from "./customers.ts"
import { account, secret } from "./keys.ts"
import { listen } from "./listen.ts"
import { reportCpuTime } from "./serverLoad.ts"

export type UsageServerTask =
  | { readonly store: "memory" }
  | { readonly store: "sqlite" | "postgres" | "redis"; readonly url: string }

export interface UsageServer {
  readonly port: number
  readonly bucketId: string
}

const openStore = (task: UsageServerTask) => {
  if (task.store === "memory") return MemoryStore.open()
  if (task.store === "sqlite") return SqliteStore.open(task.url)
  return task.store === "postgres" ? PostgresStore.open(task.url) : RedisStore.open(task.url)
}

process.once("message", async (task: UsageServerTask) => {
  const store = await openStore(task)
  const { gate: loading, metering } = await loadCustomers(store)
  await loading.close()
  const gate = await createTollgate({
    store,
    secret,
    tokens: [{ token: `${account}-token-of-the-benchmarks`, account }]
  })
  const port = await listen(toNodeHandler(gate))
  reportCpuTime()
  process.send?.({ port, bucketId: metering.meteringBucketId } satisfies UsageServer)
})
