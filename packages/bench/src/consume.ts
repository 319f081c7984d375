/**
 * Benchmarks of usage metering: verify and consume on SQLite, and consume alone on every store, also compared with a
 * rate-limiting library.
 */
import { join } from "node:path"
import { createTollgate } from "@tollgate/core"
import type { StoreOperations } from "@tollgate/core/store"
import { MemoryStore } from "@tollgate/memory"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { makeSubscription } from "@tollgate/testing"
import Database from "better-sqlite3"
import { Redis } from "ioredis"
import { RateLimiterMemory, RateLimiterRedis, RateLimiterSQLite } from "rate-limiter-flexible"
import { account, hashKey, makeBaselineRecords, secret, toVerifyResult } from "./keys.ts"
import { compare, type Effort, runConcurrently } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"

const customers = 500
/** A limit that no run reaches. */
const unreachableLimit = 2 ** 40
const concurrency = 64

/** Creates a gate with consumers that each have a key and a subscription. */
const load = async (store: StoreOperations) => {
  const gate = await createTollgate({ store, secret })
  const bench = gate.account(account)
  const [keyBucket, meteringBucket] = [bench.keyBucket("production"), await bench.meteringBuckets.ensure("default")]
  const plan = await meteringBucket.plans.create({
    label: "Pro",
    planExternalId: "pro",
    meters: { requests: { max: unreachableLimit } }
  })
  const created = await Promise.all(
    Array.from({ length: customers }, async (_, index) => {
      const consumer = await keyBucket.consumers.create({ name: `c-${index}` }, { withApiKey: true })
      const subscription = await meteringBucket.subscriptions.create(
        makeSubscription(plan.id, "pro", { customerKey: consumer.name, subscriptionExternalId: `s-${index}` })
      )
      return { key: consumer.apiKeys[0].key ?? "", subscriptionId: subscription.id }
    })
  )
  const getCustomer = (index: number) => created[index % customers] ?? { key: "", subscriptionId: "" }
  return {
    gate,
    keys: created.map(({ key }) => key),
    authorize: (index: number) =>
      keyBucket.authorize(getCustomer(index).key, {
        metering: { meteringBucketId: meteringBucket.id, meters: { requests: 1 } }
      }),
    consume: (index: number) => meteringBucket.usage.consume(getCustomer(index).subscriptionId, { requests: 1 })
  }
}

const tables = `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE consumer (id INTEGER PRIMARY KEY, body TEXT) STRICT;
  CREATE TABLE key (hash TEXT PRIMARY KEY, consumer INTEGER, body TEXT) STRICT, WITHOUT ROWID;
  CREATE TABLE usage (consumer INTEGER PRIMARY KEY, used INTEGER, max INTEGER) STRICT;`

/** The same in hand-written SQL: each request looks up its key and commits its usage durably, one after the other. */
const makeSqliteBaseline = (path: string, keys: ReadonlyArray<string>) => {
  const database = new Database(path)
  database.exec(tables)
  database.transaction(() => {
    for (const [index, value] of keys.entries()) {
      const { hash, key, consumer } = makeBaselineRecords(value, index)
      database.prepare("INSERT INTO consumer VALUES (?, ?)").run(index, consumer)
      database.prepare("INSERT INTO key VALUES (?, ?, ?)").run(hash, index, key)
      database.prepare("INSERT INTO usage VALUES (?, 0, ?)").run(index, unreachableLimit)
    }
  })()
  const find = database.prepare<[string], { id: number; key: string; consumer: string }>(
    "SELECT consumer.id, key.body AS key, consumer.body AS consumer FROM key JOIN consumer ON consumer.id = key.consumer WHERE hash = ?"
  )
  const count = database.prepare<[number]>("UPDATE usage SET used = used + 1 WHERE consumer = ? AND used < max")
  const use = database.transaction((id: number) => count.run(id).changes)
  const authorize = async (index: number) => {
    const row = find.get(hashKey(keys[index % keys.length] ?? ""))
    if (row === undefined || toVerifyResult(row.key, row.consumer) === undefined)
      throw new Error("the baseline did not find the key")
    if (use.immediate(row.id) !== 1) throw new Error("the baseline did not count the request")
  }
  return { authorize, close: () => void database.close() }
}

export const verifyAndConsumeOnSqlite = async ({ folder }: Resources, effort: Effort): Promise<Row> => {
  const store = await SqliteStore.open(join(folder, "pair.db"))
  const { gate, keys, authorize } = await load(store)
  const baseline = makeSqliteBaseline(join(folder, "pair-baseline.db"), keys)
  const comparison = await compare(
    runConcurrently(concurrency, authorize),
    runConcurrently(concurrency, baseline.authorize),
    effort
  )
  await gate.close()
  await store.close()
  baseline.close()
  return {
    name: "verify and consume, SQLite file, 64 concurrent",
    comparedWith: "hand-written SQL, one durable commit each",
    target: 2,
    ...comparison
  }
}

/** A plain increment with a maximum and an expiry. */
const increment = `
  local used = redis.call("INCRBY", KEYS[1], ARGV[1])
  if used == tonumber(ARGV[1]) then redis.call("PEXPIRE", KEYS[1], ARGV[3]) end
  if used > tonumber(ARGV[2]) then redis.call("DECRBY", KEYS[1], ARGV[1]) return -1 end
  return used`

export const consumeOnRedis = async ({ redis }: Resources, effort: Effort): Promise<Row> => {
  const store = await RedisStore.open(redis, { prefix: "consume:" })
  const { gate, consume } = await load(store)
  const client = new Redis(redis, { maxRetriesPerRequest: 0 })
  const sha = (await client.script("LOAD", increment)) as string
  const baseline = (index: number) =>
    client.evalsha(sha, 1, `used:${index % customers}`, 1, unreachableLimit, 2_678_400_000)
  const comparison = await compare(
    runConcurrently(concurrency, consume),
    runConcurrently(concurrency, baseline),
    effort
  )
  await gate.close()
  await store.close()
  client.disconnect()
  return {
    name: "consume, Redis, 64 concurrent",
    comparedWith: "a plain EVALSHA that increments",
    target: 0.7,
    ...comparison
  }
}

// 24 days is about the maximum of setTimeout, which the library uses.
const limits = { points: unreachableLimit, duration: 24 * 24 * 60 * 60 }

/** Compares with rate-limiter-flexible, which counts the same number of requests. */
const compareWithLimiter = async (
  storeName: string,
  store: StoreOperations,
  limiter: { consume: (key: string) => Promise<unknown> },
  effort: Effort
): Promise<Row> => {
  const { gate, consume } = await load(store)
  const baseline = (index: number) => limiter.consume(`customer-${index % customers}`)
  const comparison = await compare(
    runConcurrently(concurrency, consume),
    runConcurrently(concurrency, baseline),
    effort
  )
  await gate.close()
  return {
    name: `consume, ${storeName}, 64 concurrent`,
    comparedWith: "rate-limiter-flexible",
    target: 1,
    ...comparison
  }
}

export const consumeAgainstLimiterInMemory = (effort: Effort): Promise<Row> =>
  compareWithLimiter("memory", MemoryStore.open(), new RateLimiterMemory(limits), effort)

export const consumeAgainstLimiterOnSqlite = async ({ folder }: Resources, effort: Effort): Promise<Row> => {
  const store = await SqliteStore.open(join(folder, "limiter.db"))
  const database = new Database(join(folder, "limiter-baseline.db"))
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
  const limiter = await new Promise<RateLimiterSQLite>((resolve, reject) => {
    const rateLimiter = new RateLimiterSQLite(
      { ...limits, storeClient: database, storeType: "better-sqlite3", tableName: "limits" },
      (error?: Error) => (error ? reject(error) : resolve(rateLimiter))
    )
  })
  const row = await compareWithLimiter("SQLite file", store, limiter, effort)
  await store.close()
  database.close()
  return row
}

export const consumeAgainstLimiterOnRedis = async ({ redis }: Resources, effort: Effort): Promise<Row> => {
  const store = await RedisStore.open(redis, { prefix: "limiter:" })
  const client = new Redis(redis)
  const row = await compareWithLimiter("Redis", store, new RateLimiterRedis({ ...limits, storeClient: client }), effort)
  await store.close()
  client.disconnect()
  return row
}
