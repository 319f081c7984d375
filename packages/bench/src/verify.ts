/**
 * Verifying a key: the hot path, on every adapter, against the same look-up by hand.
 */
import { join } from "node:path"
import { MemoryStore } from "@tollgate/memory"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import Database from "better-sqlite3"
import { Redis } from "ioredis"
import { account, baselineRecords, hashKey, type Loaded, load, toVerifyResult } from "./keys.ts"
import { compare, type Effort, runConcurrently, runSequentially } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"

const verifying =
  ({ gate, bucket, values }: Loaded) =>
  async (index: number) => {
    const { valid } = await gate.keys.verify(account, bucket, values[index % values.length] ?? "")
    if (!valid) throw new Error("a key was not verified")
  }

const checked = (answer: unknown): void => {
  if (answer === undefined) throw new Error("the floor did not find a key")
}

export const verifyInMemory = async (count: number, effort: Effort): Promise<Row> => {
  const store = MemoryStore.open()
  const loaded = await load(store, count)
  const [keys, consumers] = [new Map<string, readonly [key: string, consumer: number]>(), new Map<number, string>()]
  for (const [index, value] of loaded.values.entries()) {
    const { hash, key, consumer } = baselineRecords(value, index)
    keys.set(hash, [key, index])
    consumers.set(index, consumer)
  }
  const floor = async (index: number) => {
    const found = keys.get(hashKey(loaded.values[index % loaded.values.length] ?? ""))
    checked(found && toVerifyResult(found[0], consumers.get(found[1]) ?? ""))
  }
  const comparison = await compare(runSequentially(await verifying(loaded)), runSequentially(floor), effort)
  await loaded.gate.close()
  return { work: `verify, memory, ${count} keys`, against: "hash, Map and JSON by hand", bar: 0.6, ...comparison }
}

export const verifyOnSqlite = async ({ folder }: Resources, count: number, effort: Effort): Promise<Row> => {
  const store = await SqliteStore.open(join(folder, `verify-${count}.db`), { durability: "normal" })
  const loaded = await load(store, count)
  const database = new Database(join(folder, `verify-floor-${count}.db`))
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -32768;
    CREATE TABLE consumer (id INTEGER PRIMARY KEY, body TEXT) STRICT;
    CREATE TABLE key (hash TEXT PRIMARY KEY, consumer INTEGER, body TEXT) STRICT, WITHOUT ROWID;`)
  const putConsumer = database.prepare("INSERT INTO consumer VALUES (?, ?)")
  const putKey = database.prepare("INSERT INTO key VALUES (?, ?, ?)")
  database.transaction(() => {
    for (const [index, value] of loaded.values.entries()) {
      const { hash, key, consumer } = baselineRecords(value, index)
      putConsumer.run(index, consumer)
      putKey.run(hash, index, key)
    }
  })()
  const find = database.prepare(
    "SELECT key.body AS key, consumer.body AS consumer FROM key JOIN consumer ON consumer.id = key.consumer WHERE hash = ?"
  )
  const floor = async (index: number) => {
    const found = find.get(hashKey(loaded.values[index % loaded.values.length] ?? "")) as
      | { readonly key: string; readonly consumer: string }
      | undefined
    checked(found && toVerifyResult(found.key, found.consumer))
  }
  const comparison = await compare(runSequentially(await verifying(loaded)), runSequentially(floor), effort)
  await loaded.gate.close()
  await store.close()
  database.close()
  return { work: `verify, SQLite file, ${count} keys`, against: "one prepared join by hand", bar: 0.6, ...comparison }
}

/** What a hand-written look-up would run: the key by its hash, and its consumer. */
const lookUp = `
  local key = redis.call("HGET", KEYS[1], ARGV[1])
  if not key then return false end
  local at = string.find(key, " ", 1, true)
  return { string.sub(key, at + 1), redis.call("HGET", KEYS[2], string.sub(key, 1, at - 1)) }`

export const verifyOnRedis = async ({ redis }: Resources, count: number, effort: Effort): Promise<Row> => {
  const store = await RedisStore.open(redis, { prefix: `verify-${count}:` })
  const loaded = await load(store, count)
  const client = new Redis(redis, { keyPrefix: `floor-${count}:`, maxRetriesPerRequest: 0 })
  for (let first = 0; first < count; first += 1000) {
    const [keys, consumers]: [Record<string, string>, Record<string, string>] = [{}, {}]
    for (let index = first; index < Math.min(count, first + 1000); index++) {
      const { hash, key, consumer } = baselineRecords(loaded.values[index] ?? "", index)
      keys[hash] = `${index} ${key}`
      consumers[String(index)] = consumer
    }
    await Promise.all([client.hset("{b}keys", keys), client.hset("{b}consumers", consumers)])
  }
  const sha = (await client.script("LOAD", lookUp)) as string
  const floor = async (index: number) => {
    const hash = hashKey(loaded.values[index % loaded.values.length] ?? "")
    const found = (await client.evalsha(sha, 2, "{b}keys", "{b}consumers", hash)) as readonly [string, string] | null
    checked(found === null ? undefined : toVerifyResult(found[0], found[1]))
  }
  const comparison = await compare(runConcurrently(64, await verifying(loaded)), runConcurrently(64, floor), effort)
  await loaded.gate.close()
  await store.close()
  client.disconnect()
  return {
    work: `verify, Redis, ${count} keys, 64 at once`,
    against: "a bare EVALSHA of the same client",
    bar: 0.7,
    ...comparison
  }
}
