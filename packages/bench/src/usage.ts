/**
 * What usage over time costs: consuming, compared with the same commits without what is only for usage over time; reserving and settling, compared with
 * consuming; and events in batches, compared with records, at once and one after another.
 */
import { join } from "node:path"
import { MemoryStore } from "@tollgate/memory"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { type Change, type Commit, type StoreOperations, withNow } from "@tollgate/store"
import { concurrency, loadCustomers } from "./customers.ts"
import { compare, type Effort, runConcurrently, runSequentially, type Work } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"

/** What a count does only for usage over time: it checks the ledger, and adds to the total of the day. */
const isForHistory = (change: Change): boolean =>
  change._tag === "Check"
    ? change.key.startsWith("usage/")
    : "counter" in change && change.counter.startsWith("usage-day:")

/** The same store, but commits leave out what is only for usage over time. */
const withoutHistory = (store: StoreOperations): StoreOperations => {
  const omitHistory = (changes: ReadonlyArray<Change>) => changes.filter((change) => !isForHistory(change))
  const { commit } = store
  return {
    ...store,
    commit: withNow<Commit>(
      (partition, changes, idempotency) => commit(partition, omitHistory(changes), idempotency),
      commit.now && ((partition, changes, clock) => commit.now?.(partition, omitHistory(changes), clock))
    )
  }
}

const batchSize = 1_000

/** Counts events in batches: one after another, as a queue would send them. */
const recordInBatches = (record: (ids: ReadonlyArray<string>) => Promise<unknown>): Work => {
  let count = 0
  return async (times) => {
    for (let rest = times; rest > 0; rest -= batchSize) {
      await record(Array.from({ length: Math.min(batchSize, rest) }, () => `event-${++count}`))
    }
  }
}

const measure = async (storeName: string, store: StoreOperations, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const withUsage = await loadCustomers(store, "with-history")
  const withoutUsage = await loadCustomers(withoutHistory(store), "without-history")
  const consume = runConcurrently(concurrency, withUsage.consume)
  const rows = [
    {
      name: `consume, ${storeName}, 64 concurrent`,
      comparedWith: "the same without usage over time",
      target: 0.8,
      ...(await compare(consume, runConcurrently(concurrency, withoutUsage.consume), effort))
    },
    {
      name: `reserve and settle, ${storeName}, 64 concurrent`,
      comparedWith: "consume",
      ...(await compare(runConcurrently(concurrency, withUsage.reserveAndSettle), consume, effort))
    },
    {
      name: `events in batches of 1,000 of 500 customers, ${storeName}`,
      comparedWith: "record, 64 concurrent",
      ...(await compare(
        recordInBatches(withUsage.recordEvents),
        runConcurrently(concurrency, withUsage.record),
        effort
      ))
    },
    {
      name: `events in batches of 1,000 of 500 customers, ${storeName}`,
      comparedWith: "record, one after another",
      target: 10,
      ...(await compare(recordInBatches(withUsage.recordEvents), runSequentially(withUsage.record), effort))
    }
  ]
  await withUsage.gate.close()
  await withoutUsage.gate.close()
  return rows
}

export const usageInMemory = (effort: Effort): Promise<ReadonlyArray<Row>> =>
  measure("memory", MemoryStore.open(), effort)

export const usageOnSqlite = async ({ folder }: Resources, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const store = await SqliteStore.open(join(folder, "usage.db"))
  const rows = await measure("SQLite file", store, effort)
  await store.close()
  return rows
}

export const usageOnPostgres = async ({ postgres }: Resources, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const store = await PostgresStore.open(postgres, { schema: "usage" })
  const rows = await measure("Postgres", store, effort)
  await store.close()
  return rows
}

export const usageOnRedis = async ({ redis }: Resources, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const store = await RedisStore.open(redis, { prefix: "usage:" })
  const rows = await measure("Redis", store, effort)
  await store.close()
  return rows
}
