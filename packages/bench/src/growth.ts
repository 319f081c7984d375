/**
 * Benchmarks of verification with a hundred or a thousand times the keys, and with 64 concurrent calls. They also
 * measure what a key takes in the store.
 */
import { statSync } from "node:fs"
import { join } from "node:path"
import { MemoryStore } from "@tollgate/memory"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import type { StoreOperations } from "@tollgate/store"
import { measureHeapAfterGc } from "@tollgate/testing"
import Database from "better-sqlite3"
import { Redis } from "ioredis"
import { type LoadedGate, load, reopen } from "./keys.ts"
import { compare, type Effort, runConcurrently } from "./measure.ts"
import { openPool } from "./postgres.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"
import { makeVerify } from "./verify.ts"

const fewKeys = 1000

const verifyWith = (loaded: LoadedGate, concurrency: number) => runConcurrently(concurrency, makeVerify(loaded))

interface GrowingStore {
  readonly name: string
  readonly store: StoreOperations & { readonly close: () => Promise<void> }
  /** The bytes that the store takes. */
  readonly measureBytes: () => Promise<number>
  /** The same data in a store with other options. */
  readonly variant?: {
    readonly name: string
    readonly open: () => Promise<StoreOperations & { readonly close: () => Promise<void> }>
  }
}

const compareByKeys = async (
  name: string,
  { small, large }: { readonly small: LoadedGate; readonly large: LoadedGate },
  effort: Effort
) => ({
  name: `verify, ${name}, ${large.values.length} keys`,
  comparedWith: `the same with ${fewKeys} keys`,
  target: 0.8,
  ...(await compare(verifyWith(large, 16), verifyWith(small, 16), effort))
})

const measureGrowth = async (
  { name, store, measureBytes, variant }: GrowingStore,
  count: number,
  effort: Effort
): Promise<ReadonlyArray<Row>> => {
  const small = await load(store, fewKeys)
  const bytesBefore = await measureBytes()
  const large = await load(store, count)
  const bytesPerKey = ((await measureBytes()) - bytesBefore) / count
  const rows: Array<Row> = [
    { ...(await compareByKeys(name, { small, large }, effort)), bytesPerKey },
    {
      name: `verify, ${name}, 64 concurrent`,
      comparedWith: "the same, one at a time",
      ...(await compare(verifyWith(large, 64), verifyWith(large, 1), effort))
    }
  ]
  await Promise.all([small.gate.close(), large.gate.close()])
  await store.close()
  if (variant !== undefined) {
    const store = await variant.open()
    const gates = { small: await reopen(store, small), large: await reopen(store, large) }
    rows.push(await compareByKeys(variant.name, gates, effort))
    await Promise.all([gates.small.gate.close(), gates.large.gate.close()])
    await store.close()
  }
  return rows
}

export const growthInMemory = (count: number, effort: Effort) =>
  measureGrowth(
    { name: "memory", store: MemoryStore.open(), measureBytes: async () => measureHeapAfterGc() },
    count,
    effort
  )

/** The size of a SQLite file after its write-ahead log is moved into it. */
const measureFile = async (path: string): Promise<number> => {
  const database = new Database(path)
  database.pragma("wal_checkpoint(TRUNCATE)")
  database.close()
  return statSync(path).size + (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0)
}

export const growthOnSqlite = async ({ folder }: Resources, count: number, effort: Effort) => {
  const path = join(folder, "growth.db")
  const store = await SqliteStore.open(path, { durability: "normal" })
  const variant = {
    name: "SQLite file with a page cache of 256 MiB",
    open: () => SqliteStore.open(path, { durability: "normal", pageCacheMebibytes: 256 })
  }
  return measureGrowth({ name: "SQLite file", store, measureBytes: () => measureFile(path), variant }, count, effort)
}

export const growthOnPostgres = async ({ postgres }: Resources, count: number, effort: Effort) => {
  const store = await PostgresStore.open(postgres, { schema: "growth" })
  const pool = openPool(postgres)
  const measureBytes = async (): Promise<number> => {
    const { rows } = await pool.query<{ bytes: string }>(
      "SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class WHERE relkind = 'r' AND relnamespace = 'growth'::regnamespace"
    )
    return Number(rows[0]?.bytes)
  }
  const rows = await measureGrowth({ name: "Postgres", store, measureBytes }, count, effort)
  await pool.end()
  return rows
}

export const growthOnRedis = async ({ redis }: Resources, count: number, effort: Effort) => {
  const store = await RedisStore.open(redis, { prefix: "growth:" })
  const client = new Redis(redis)
  const measureBytes = async (): Promise<number> => Number(/^used_memory:(\d+)/m.exec(await client.info("memory"))?.[1])
  const rows = await measureGrowth({ name: "Redis", store, measureBytes }, count, effort)
  client.disconnect()
  return rows
}
