/**
 * Benchmarks against rate-limiter-flexible on the same kind of store: counting a quota, and a decision on a rate limit
 * and a quota.
 */
import { join } from "node:path"
import { MemoryStore } from "@tollgate/memory"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import type { StoreOperations } from "@tollgate/store"
import Database from "better-sqlite3"
import { Redis } from "ioredis"
import type { Pool } from "pg"
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRedis, RateLimiterSQLite } from "rate-limiter-flexible"
import { concurrency, customers, loadCustomers, unreachableLimit } from "./customers.ts"
import { compare, type Effort, runConcurrently } from "./measure.ts"
import { openPool } from "./postgres.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"

// 24 days is about the maximum of setTimeout, which the library uses.
const quota = { points: unreachableLimit, duration: 24 * 24 * 60 * 60, keyPrefix: "quota" }
const rateLimit = { points: unreachableLimit, duration: 1, keyPrefix: "rate_limit" }

interface Limiter {
  readonly consume: (key: string) => Promise<unknown>
}

interface Limiters {
  readonly quota: Limiter
  readonly rateLimit: Limiter
}

const compareWithLimiters = async (
  storeName: string,
  store: StoreOperations,
  limiters: Limiters,
  targets: { readonly consume: number; readonly authorize?: number },
  effort: Effort
): Promise<ReadonlyArray<Row>> => {
  const { gate, consume, authorizeLimited } = await loadCustomers(store)
  const toName = (index: number) => `customer-${index % customers}`
  const consumption = await compare(
    runConcurrently(concurrency, consume),
    runConcurrently(concurrency, (index) => limiters.quota.consume(toName(index))),
    effort
  )
  // The library has no keys: Tollgate also verifies one with each decision.
  const decision = await compare(
    runConcurrently(concurrency, authorizeLimited),
    runConcurrently(concurrency, async (index) => {
      await limiters.rateLimit.consume(toName(index))
      await limiters.quota.consume(toName(index))
    }),
    effort
  )
  await gate.close()
  return [
    {
      name: `consume, ${storeName}, 64 concurrent`,
      comparedWith: "rate-limiter-flexible",
      target: targets.consume,
      ...consumption
    },
    {
      name: `authorize with rate limit and quota, ${storeName}, 64 concurrent`,
      comparedWith: "rate-limiter-flexible, one after the other, without keys",
      ...(targets.authorize === undefined ? {} : { target: targets.authorize }),
      ...decision
    }
  ]
}

export const limitersInMemory = (effort: Effort): Promise<ReadonlyArray<Row>> =>
  compareWithLimiters(
    "memory",
    MemoryStore.open(),
    { quota: new RateLimiterMemory(quota), rateLimit: new RateLimiterMemory(rateLimit) },
    { consume: 0.3 },
    effort
  )

/** Waits until a limiter has created its table. */
const createLimiter = (make: (onCreated: (error?: Error) => void) => Limiter): Promise<Limiter> =>
  new Promise((resolve, reject) => {
    const limiter = make((error) => (error ? reject(error) : resolve(limiter)))
  })

const createSqliteLimiter = (storeClient: Database.Database, options: typeof quota) =>
  createLimiter(
    (onCreated) =>
      new RateLimiterSQLite(
        { ...options, storeClient, storeType: "better-sqlite3", tableName: options.keyPrefix },
        onCreated
      )
  )

const createPostgresLimiter = (storeClient: Pool, options: typeof quota) =>
  createLimiter(
    (onCreated) => new RateLimiterPostgres({ ...options, storeClient, tableName: options.keyPrefix }, onCreated)
  )

export const limitersOnSqlite = async ({ folder }: Resources, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const store = await SqliteStore.open(join(folder, "limiter.db"))
  const database = new Database(join(folder, "limiter-baseline.db"))
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
  const limiters = {
    quota: await createSqliteLimiter(database, quota),
    rateLimit: await createSqliteLimiter(database, rateLimit)
  }
  const rows = await compareWithLimiters("SQLite file", store, limiters, { consume: 5, authorize: 1 }, effort)
  await store.close()
  database.close()
  return rows
}

export const limitersOnPostgres = async ({ postgres }: Resources, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const store = await PostgresStore.open(postgres, { schema: "limiter" })
  const pool = openPool(postgres)
  const limiters = {
    quota: await createPostgresLimiter(pool, quota),
    rateLimit: await createPostgresLimiter(pool, rateLimit)
  }
  const rows = await compareWithLimiters("Postgres", store, limiters, { consume: 1, authorize: 1 }, effort)
  await store.close()
  await pool.end()
  return rows
}

export const limitersOnRedis = async ({ redis }: Resources, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const store = await RedisStore.open(redis, { prefix: "limiter:" })
  const storeClient = new Redis(redis)
  const limiters = {
    quota: new RateLimiterRedis({ ...quota, storeClient }),
    rateLimit: new RateLimiterRedis({ ...rateLimit, storeClient })
  }
  const rows = await compareWithLimiters("Redis", store, limiters, { consume: 1, authorize: 1 }, effort)
  await store.close()
  storeClient.disconnect()
  return rows
}
