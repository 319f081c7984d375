/**
 * Benchmarks of usage metering: verify and consume on SQLite, and consume on Redis.
 */
import { join } from "node:path"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import Database from "better-sqlite3"
import { Redis } from "ioredis"
import { concurrency, customers, loadCustomers, unreachableLimit } from "./customers.ts"
import { hashKey, makeBaselineRecords, toVerifyResult } from "./keys.ts"
import { compare, type Effort, runConcurrently } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"

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
  const { gate, keys, authorize } = await loadCustomers(store)
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
  const { gate, consume } = await loadCustomers(store)
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
    ...comparison
  }
}
