/**
 * Copies of stores that earlier previews of 0.1 wrote to: their replays have numbers without names.
 */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Change, copyStore, Partition, type StoreWithContents } from "@tollgate/core/store"
import { MemoryStore } from "@tollgate/memory"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { startRedis, temporaryFolder } from "@tollgate/testing"
import Sqlite from "better-sqlite3"
import { Effect } from "effect"
import { Redis } from "ioredis"

const partition = Partition.forKeyBucket("acme", "production")
const expires = Date.now() + 3_600_000
const put = Change.Put({ key: "a", expect: 0, body: "", indexTerms: [], uniqueKeys: [] })
const add = Change.Add({ counter: "n", by: 2, ttl: 3_600_000 })
const idempotency = { id: "id", fingerprint: "new", result: "new", ttl: 3_600_000 }

/** Creates the partition, in which `addReplay` adds the replay of a preview. */
const copyOf = async (from: StoreWithContents, addReplay: () => unknown) => {
  await Effect.runPromise(from.commit(partition, [put]))
  await addReplay()
  const to = MemoryStore.open()
  assert.strictEqual((await copyStore(from, to)).replays, 1)
  await copyStore(to, MemoryStore.open())
  const { versions, totals, replayed } = await Effect.runPromise(to.commit(partition, [put, add], idempotency))
  assert.deepStrictEqual([[...versions], [...totals]], [[["a", 7]], [["n", 5]]])
  assert.deepStrictEqual(replayed, { fingerprint: "old", result: "first" })
}

describe("a replay of an earlier preview is copied, and replays", () => {
  it.live("from SQLite", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryFolder, "store.db")
      yield* Effect.promise(async () => {
        const store = await SqliteStore.open(path)
        await copyOf(store, () => {
          const committed = { versions: [7], totals: [5], replayed: { fingerprint: "old", answer: "first" } }
          const database = new Sqlite(path)
          database
            .prepare("INSERT INTO tollgate_once SELECT id, 'id', ?, ? FROM tollgate_partitions")
            .run(JSON.stringify(committed), expires)
          database.close()
        })
        await store.close()
      })
    })
  )

  it.live("from Redis", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      yield* Effect.promise(async () => {
        const [store, client] = [await RedisStore.open(url), new Redis(url)]
        await copyOf(store, async () => {
          const base = `tollgate:{${partition}}:`
          const payload = `7\n5\n${JSON.stringify(["the id of the commit", "old", "first"])}`
          await client.set(`${base}once:id`, payload, "PXAT", expires)
          await client.zadd(`${base}expiring`, expires, "once:id")
        })
        client.disconnect()
        await store.close()
      })
    })
  )
})
