/**
 * Pages of large records: the connection is shared, so that a long reply delays the replies of all others.
 */
import { assert, describe, it } from "@effect/vitest"
import { Change, Partition } from "@tollgate/core/store"
import { RedisStore } from "@tollgate/redis"
import { startRedis } from "@tollgate/testing"
import { Effect } from "effect"
import { Redis } from "ioredis"

const partition = Partition.forKeyBucket("acme", "large")
const count = 100
const body = "x".repeat(64 * 1024)

const put = (key: string) => Change.Put({ key, expect: 0, body, indexTerms: ["all"], uniqueKeys: [] })

describe("a page of large records", () => {
  it.live("comes in short replies, and next leads on", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const store = yield* Effect.acquireRelease(
        Effect.promise(() => RedisStore.open(url)),
        (store) => Effect.promise(() => store.close())
      )
      const admin = yield* Effect.acquireRelease(
        Effect.sync(() => new Redis(url)),
        (admin) => Effect.sync(() => admin.disconnect())
      )
      for (let index = 0; index < count; index++) yield* store.commit(partition, [put(`r${index}`)])
      const countScripts = Effect.map(
        Effect.promise(() => admin.info("commandstats")),
        (info) => Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? 0)
      )
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
