/**
 * Benchmarks of key verification on every store, compared with the same lookup in hand-written code.
 */
import { join } from "node:path"
import { MemoryStore } from "@tollgate/memory"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import Database from "better-sqlite3"
import { Redis } from "ioredis"
import { hashKey, type LoadedGate, load, makeBaselineRecords, toVerifyResult } from "./keys.ts"
import { compare, type Effort, runConcurrently, runSequentially } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"

export const makeVerify =
  ({ keyBucket, values }: LoadedGate) =>
  async (index: number) => {
    const { valid } = await keyBucket.verify(values[index % values.length] ?? "")
    if (!valid) throw new Error("the key is not valid")
  }

export const assertFound = (result: unknown): void => {
  if (result === undefined) throw new Error("the baseline did not find the key")
}

export const verifyInMemory = async (count: number, effort: Effort): Promise<Row> => {
  const store = MemoryStore.open()
  const loaded = await load(store, count)
  const [keys, consumers] = [new Map<string, readonly [key: string, consumer: number]>(), new Map<number, string>()]
  for (const [index, value] of loaded.values.entries()) {
    const { hash, key, consumer } = makeBaselineRecords(value, index)
    keys.set(hash, [key, index])
    consumers.set(index, consumer)
  }
  const baseline = async (index: number) => {
    const entry = keys.get(hashKey(loaded.values[index % loaded.values.length] ?? ""))
    assertFound(entry && toVerifyResult(entry[0], consumers.get(entry[1]) ?? ""))
  }
  const comparison = await compare(runSequentially(makeVerify(loaded)), runSequentially(baseline), effort)
  await loaded.gate.close()
  return {
    name: `verify, memory, ${count} keys`,
    comparedWith: "hand-written hash, Map and JSON",
    target: 0.8,
    ...comparison
  }
}

export const verifyOnSqlite = async ({ folder }: Resources, count: number, effort: Effort): Promise<Row> => {
  const store = await SqliteStore.open(join(folder, `verify-${count}.db`), { durability: "normal" })
  const loaded = await load(store, count)
  const database = new Database(join(folder, `verify-baseline-${count}.db`))
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -32768;
    CREATE TABLE consumer (id INTEGER PRIMARY KEY, body TEXT) STRICT;
    CREATE TABLE key (hash TEXT PRIMARY KEY, consumer INTEGER, body TEXT) STRICT, WITHOUT ROWID;`)
  const putConsumer = database.prepare("INSERT INTO consumer VALUES (?, ?)")
  const putKey = database.prepare("INSERT INTO key VALUES (?, ?, ?)")
  database.transaction(() => {
    for (const [index, value] of loaded.values.entries()) {
      const { hash, key, consumer } = makeBaselineRecords(value, index)
      putConsumer.run(index, consumer)
      putKey.run(hash, index, key)
    }
  })()
  const find = database.prepare(
    "SELECT key.body AS key, consumer.body AS consumer FROM key JOIN consumer ON consumer.id = key.consumer WHERE hash = ?"
  )
  const baseline = async (index: number) => {
    const row = find.get(hashKey(loaded.values[index % loaded.values.length] ?? "")) as
      | { readonly key: string; readonly consumer: string }
      | undefined
    assertFound(row && toVerifyResult(row.key, row.consumer))
  }
  const comparison = await compare(runSequentially(makeVerify(loaded)), runSequentially(baseline), effort)
  await loaded.gate.close()
  await store.close()
  database.close()
  return {
    name: `verify, SQLite file, ${count} keys`,
    comparedWith: "a hand-written prepared join",
    target: 0.75,
    ...comparison
  }
}

/** A hand-written lookup: the key by its hash, and its consumer. */
const lookupScript = `
  local key = redis.call("HGET", KEYS[1], ARGV[1])
  if not key then return false end
  local space = string.find(key, " ", 1, true)
  return { string.sub(key, space + 1), redis.call("HGET", KEYS[2], string.sub(key, 1, space - 1)) }`

export const verifyOnRedis = async ({ redis }: Resources, count: number, effort: Effort): Promise<Row> => {
  const store = await RedisStore.open(redis, { prefix: `verify-${count}:` })
  const loaded = await load(store, count)
  const client = new Redis(redis, { keyPrefix: `baseline-${count}:`, maxRetriesPerRequest: 0 })
  for (let first = 0; first < count; first += 1000) {
    const [keys, consumers]: [Record<string, string>, Record<string, string>] = [{}, {}]
    for (let index = first; index < Math.min(count, first + 1000); index++) {
      const { hash, key, consumer } = makeBaselineRecords(loaded.values[index] ?? "", index)
      keys[hash] = `${index} ${key}`
      consumers[String(index)] = consumer
    }
    await Promise.all([client.hset("{b}keys", keys), client.hset("{b}consumers", consumers)])
  }
  const sha = (await client.script("LOAD", lookupScript)) as string
  const baseline = async (index: number) => {
    const hash = hashKey(loaded.values[index % loaded.values.length] ?? "")
    const reply = (await client.evalsha(sha, 2, "{b}keys", "{b}consumers", hash)) as readonly [string, string] | null
    assertFound(reply === null ? undefined : toVerifyResult(reply[0], reply[1]))
  }
  const comparison = await compare(runConcurrently(64, makeVerify(loaded)), runConcurrently(64, baseline), effort)
  await loaded.gate.close()
  await store.close()
  client.disconnect()
  return {
    name: `verify, Redis, ${count} keys, 64 concurrent`,
    comparedWith: "a plain EVALSHA on the same client",
    target: 1,
    ...comparison
  }
}
