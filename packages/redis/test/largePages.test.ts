/**
 * What is long to read: a connection is shared, so that a long reply delays the replies of all others.
 */
import { assert, describe, it } from "@effect/vitest"
import { RedisStore } from "@tollgate/redis"
import { Change, Partition } from "@tollgate/store"
import { startRedis } from "@tollgate/testing"
import { Effect } from "effect"
import { Redis } from "ioredis"

const partition = Partition.forKeyBucket("acme", "large")
const count = 100
const large = "x".repeat(64 * 1024)

const put = (key: string, body: string) => Change.Put({ key, expect: 0, body, indexTerms: ["all"], uniqueKeys: [] })

/** A server, a store, and a count of the scripts that ran. */
const setUp = Effect.gen(function* () {
  const { url } = yield* startRedis()
  const store = yield* Effect.acquireRelease(
    Effect.promise(() => RedisStore.open(url)),
    (store) => Effect.promise(() => store.close())
  )
  const admin = yield* Effect.acquireRelease(
    Effect.sync(() => new Redis(url)),
    (admin) => Effect.sync(() => admin.disconnect())
  )
  const countScripts = Effect.map(
    Effect.promise(() => admin.info("commandstats")),
    (info) => Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? 0)
  )
  return { store, admin, countScripts }
})

describe("a page of large records", () => {
  it.live("comes in short replies, and next leads on", () =>
    Effect.gen(function* () {
      const { store, admin, countScripts } = yield* setUp
      for (let index = 0; index < count; index++) yield* store.commit(partition, [put(`r${index}`, large)])
      const query = { indexTerms: ["all"], offset: 0, limit: 1_000 }
      const before = yield* countScripts
      const [page] = yield* store.list(partition, [query])
      // 64 KiB each, and sixteen in a reply of a mebibyte.
      assert.isAtLeast((yield* countScripts) - before, 4)
      // The last command of each connection: another one reads what is not a list.
      yield* store.get(partition, ["r0"])
      const connections = yield* Effect.promise(() => admin.call("client", ["list"]) as Promise<string>)
      for (const command of ["evalsha", "hmget"]) assert.include(connections, ` cmd=${command} `)
      const [rest] = yield* store.list(partition, [{ ...query, after: page?.next }])
      const keys = [...(page?.records ?? []), ...(rest?.records ?? [])].map(({ key }) => key)
      assert.deepStrictEqual(
        keys,
        Array.from({ length: count }, (_, index) => `r${index}`)
      )
      assert.strictEqual(page?.records.length, 64)
      assert.strictEqual(rest?.next, undefined)
    })
  )
})

describe("a commit that replaces many records", () => {
  it.live("reads them in short replies", () =>
    Effect.gen(function* () {
      const { store, countScripts } = yield* setUp
      const keys = Array.from({ length: 1_000 }, (_, index) => `r${index}`)
      yield* store.commit(
        partition,
        keys.map((key) => put(key, "small"))
      )
      const before = yield* countScripts
      const records = yield* store.get(partition, keys)
      const deletes = records.flatMap((record) =>
        record === undefined ? [] : [Change.Delete({ key: record.key, expect: record.version })]
      )
      yield* store.commit(partition, deletes)
      // A hundred records in a reply, and the commit itself.
      assert.isAtLeast((yield* countScripts) - before, 11)
      const [page] = yield* store.list(partition, [{ indexTerms: ["all"], offset: 0, limit: 1 }])
      assert.strictEqual(page?.total, 0)
    })
  )
})
