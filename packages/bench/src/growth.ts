/**
 * Whether verifying stays as fast with a hundred times the keys, and what many at once change.
 */
import { join } from "node:path"
import type { StoreOperations } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { account, type Loaded, load } from "./keys.ts"
import { compare, type Effort, runConcurrently } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"

const few = 1000

const verifying = ({ gate, bucket, values }: Loaded, many: number) =>
  runConcurrently(many, (index) => gate.keys.verify(account, bucket, values[index % values.length] ?? ""))

type Open = () => Promise<StoreOperations & { readonly close: () => Promise<void> }>

const onStore = async (name: string, open: Open, count: number, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const store = await open()
  const [small, large] = [await load(store, few), await load(store, count)]
  const keys = await compare(verifying(large, 16), verifying(small, 16), effort)
  const flight = await compare(verifying(large, 64), verifying(large, 1), effort)
  await Promise.all([small.gate.close(), large.gate.close()])
  await store.close()
  return [
    { work: `verify, ${name}, ${count} keys`, against: `itself with ${few} keys`, bar: 0.8, ...keys },
    { work: `verify, ${name}, 64 at once`, against: "itself, one at a time", ...flight }
  ]
}

export const growthInMemory = (count: number, effort: Effort) =>
  onStore("memory", async () => MemoryStore.open(), count, effort)

export const growthOnSqlite = ({ folder }: Resources, count: number, effort: Effort) =>
  onStore("SQLite file", () => SqliteStore.open(join(folder, "growth.db"), { durability: "normal" }), count, effort)

export const growthOnRedis = ({ redis }: Resources, count: number, effort: Effort) =>
  onStore("Redis", () => RedisStore.open(redis, { prefix: "growth:" }), count, effort)
