/**
 * Benchmarks of verification with a hundred times the keys, and with 64 concurrent calls.
 */
import { join } from "node:path"
import type { StoreOperations } from "@tollgate/core/store"
import { MemoryStore } from "@tollgate/memory"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { type LoadedGate, load } from "./keys.ts"
import { compare, type Effort, runConcurrently } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"

const fewKeys = 1000

const makeVerify = ({ keyBucket, values }: LoadedGate, concurrency: number) =>
  runConcurrently(concurrency, (index) => keyBucket.verify(values[index % values.length] ?? ""))

type Open = () => Promise<StoreOperations & { readonly close: () => Promise<void> }>

const measureGrowth = async (
  storeName: string,
  open: Open,
  count: number,
  effort: Effort
): Promise<ReadonlyArray<Row>> => {
  const store = await open()
  const [small, large] = [await load(store, fewKeys), await load(store, count)]
  const byKeys = await compare(makeVerify(large, 16), makeVerify(small, 16), effort)
  const byConcurrency = await compare(makeVerify(large, 64), makeVerify(large, 1), effort)
  await Promise.all([small.gate.close(), large.gate.close()])
  await store.close()
  return [
    {
      name: `verify, ${storeName}, ${count} keys`,
      comparedWith: `the same with ${fewKeys} keys`,
      target: 0.8,
      ...byKeys
    },
    { name: `verify, ${storeName}, 64 concurrent`, comparedWith: "the same, one at a time", ...byConcurrency }
  ]
}

export const growthInMemory = (count: number, effort: Effort) =>
  measureGrowth("memory", async () => MemoryStore.open(), count, effort)

export const growthOnSqlite = ({ folder }: Resources, count: number, effort: Effort) =>
  measureGrowth(
    "SQLite file",
    () => SqliteStore.open(join(folder, "growth.db"), { durability: "normal" }),
    count,
    effort
  )

export const growthOnPostgres = ({ postgres }: Resources, count: number, effort: Effort) =>
  measureGrowth("Postgres", () => PostgresStore.open(postgres, { schema: "growth" }), count, effort)

export const growthOnRedis = ({ redis }: Resources, count: number, effort: Effort) =>
  measureGrowth("Redis", () => RedisStore.open(redis, { prefix: "growth:" }), count, effort)
