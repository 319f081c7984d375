/**
 * Counting uses: with the key that makes them, on SQLite; and alone, on every adapter, also against a library that
 * does nothing else.
 */
import { join } from "node:path"
import type { StoreOperations } from "@tollgate/core"
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { makeSubscription } from "@tollgate/testing"
import Database from "better-sqlite3"
import { Redis } from "ioredis"
import { RateLimiterMemory, RateLimiterRedis, RateLimiterSQLite } from "rate-limiter-flexible"
import { account, baselineRecords, hashKey, secret, toVerifyResult } from "./keys.ts"
import { compare, type Effort, runConcurrently } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"

const customers = 500
/** More than any run can use up. */
const plenty = 2 ** 40
const bucket = "production"
const inFlight = 64

/** A gate whose consumers each have a key and a subscription. */
const load = async (store: StoreOperations) => {
  const gate = await createTollgate({ store, secret })
  const { id: bucketId } = await gate.meteringBuckets.create(account)
  const plan = await gate.plans.create(bucketId, {
    label: "Pro",
    planExternalId: "pro",
    meters: { requests: { max: plenty } }
  })
  const made = await Promise.all(
    Array.from({ length: customers }, async (_, index) => {
      const consumer = await gate.consumers.create(account, bucket, { name: `c-${index}` }, { withApiKey: true })
      const subscription = await gate.subscriptions.create(
        bucketId,
        makeSubscription(plan.id, "pro", { customerKey: consumer.name, subscriptionExternalId: `s-${index}` })
      )
      return { key: consumer.apiKeys?.[0]?.key ?? "", subscriptionId: subscription.id }
    })
  )
  const at = (index: number) => made[index % customers] ?? { key: "", subscriptionId: "" }
  return {
    gate,
    keys: made.map(({ key }) => key),
    authorize: (index: number) =>
      gate.authorize({
        account,
        bucket,
        key: at(index).key,
        metering: { meteringBucketId: bucketId, meters: { requests: 1 } }
      }),
    consume: (index: number) => gate.usage.consume(bucketId, at(index).subscriptionId, { requests: 1 })
  }
}

const tables = `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE consumer (id INTEGER PRIMARY KEY, body TEXT) STRICT;
  CREATE TABLE key (hash TEXT PRIMARY KEY, consumer INTEGER, body TEXT) STRICT, WITHOUT ROWID;
  CREATE TABLE usage (consumer INTEGER PRIMARY KEY, used INTEGER, max INTEGER) STRICT;`

/** The pair by hand: each request finds its key and commits its use, as durably, one after the other. */
const pairByHand = (path: string, keys: ReadonlyArray<string>) => {
  const database = new Database(path)
  database.exec(tables)
  database.transaction(() => {
    for (const [index, value] of keys.entries()) {
      const { hash, key, consumer } = baselineRecords(value, index)
      database.prepare("INSERT INTO consumer VALUES (?, ?)").run(index, consumer)
      database.prepare("INSERT INTO key VALUES (?, ?, ?)").run(hash, index, key)
      database.prepare("INSERT INTO usage VALUES (?, 0, ?)").run(index, plenty)
    }
  })()
  const find = database.prepare<[string], { id: number; key: string; consumer: string }>(
    "SELECT consumer.id, key.body AS key, consumer.body AS consumer FROM key JOIN consumer ON consumer.id = key.consumer WHERE hash = ?"
  )
  const count = database.prepare<[number]>("UPDATE usage SET used = used + 1 WHERE consumer = ? AND used < max")
  const use = database.transaction((id: number) => count.run(id).changes)
  const pair = async (index: number) => {
    const found = find.get(hashKey(keys[index % keys.length] ?? ""))
    if (found === undefined || toVerifyResult(found.key, found.consumer) === undefined) throw new Error("no such key")
    if (use.immediate(found.id) !== 1) throw new Error("the floor did not count")
  }
  return { pair, close: () => void database.close() }
}

export const verifyAndConsumeOnSqlite = async ({ folder }: Resources, effort: Effort): Promise<Row> => {
  const store = await SqliteStore.open(join(folder, "pair.db"))
  const { gate, keys, authorize } = await load(store)
  const floor = pairByHand(join(folder, "pair-floor.db"), keys)
  const comparison = await compare(runConcurrently(inFlight, authorize), runConcurrently(inFlight, floor.pair), effort)
  await gate.close()
  await store.close()
  floor.close()
  return {
    work: "verify and consume, SQLite file, 64 at once",
    against: "the pair by hand, committing one by one, as durably",
    bar: 2,
    ...comparison
  }
}

/** A bare increment under a maximum, which lives as long as its period. */
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
  const floor = (index: number) => client.evalsha(sha, 1, `used:${index % customers}`, 1, plenty, 2_678_400_000)
  const comparison = await compare(runConcurrently(inFlight, consume), runConcurrently(inFlight, floor), effort)
  await gate.close()
  await store.close()
  client.disconnect()
  return { work: "consume, Redis, 64 at once", against: "a bare EVALSHA that increments", bar: 0.7, ...comparison }
}

// Its timers end at 24 days.
const limits = { points: plenty, duration: 24 * 24 * 60 * 60 }

/** The same number of uses, counted by a library that limits rates. */
const againstLimiter = async (
  name: string,
  store: StoreOperations,
  limiter: { consume: (key: string) => Promise<unknown> },
  effort: Effort
): Promise<Row> => {
  const { gate, consume } = await load(store)
  const floor = (index: number) => limiter.consume(`customer-${index % customers}`)
  const comparison = await compare(runConcurrently(inFlight, consume), runConcurrently(inFlight, floor), effort)
  await gate.close()
  return { work: `consume, ${name}, 64 at once`, against: "rate-limiter-flexible", bar: 1, ...comparison }
}

export const consumeAgainstLimiterInMemory = (effort: Effort): Promise<Row> =>
  againstLimiter("memory", MemoryStore.open(), new RateLimiterMemory(limits), effort)

export const consumeAgainstLimiterOnSqlite = async ({ folder }: Resources, effort: Effort): Promise<Row> => {
  const store = await SqliteStore.open(join(folder, "limiter.db"))
  const database = new Database(join(folder, "limiter-floor.db"))
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
  const limiter = await new Promise<RateLimiterSQLite>((resolve, reject) => {
    const made = new RateLimiterSQLite(
      { ...limits, storeClient: database, storeType: "better-sqlite3", tableName: "limits" },
      (error?: Error) => (error ? reject(error) : resolve(made))
    )
  })
  const row = await againstLimiter("SQLite file", store, limiter, effort)
  await store.close()
  database.close()
  return row
}

export const consumeAgainstLimiterOnRedis = async ({ redis }: Resources, effort: Effort): Promise<Row> => {
  const store = await RedisStore.open(redis, { prefix: "limiter:" })
  const client = new Redis(redis)
  const row = await againstLimiter("Redis", store, new RateLimiterRedis({ ...limits, storeClient: client }), effort)
  await store.close()
  client.disconnect()
  return row
}
