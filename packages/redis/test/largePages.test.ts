/**
 * Pages of large records share the connection with all other commands.
 */
import { assert, describe, it } from "@effect/vitest"
import { Change, Partition } from "@tollgate/core/store"
import { RedisStore } from "@tollgate/redis"
import { startRedis } from "@tollgate/testing"
import { Effect } from "effect"

const partition = Partition.forKeyBucket("acme", "large")
const other = Partition.forKeyBucket("other", "small")
const count = 100
const body = "x".repeat(64 * 1024)

const put = (key: string, text: string) =>
  Change.Put({ key, expect: 0, body: text, indexTerms: ["all"], uniqueKeys: [] })

describe("a page of large records", () => {
  it.live("comes in short replies, so that others do not wait for all of it, and next leads on", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const store = yield* Effect.acquireRelease(
        Effect.promise(() => RedisStore.open(url)),
        (store) => Effect.promise(() => store.close())
      )
      for (let index = 0; index < count; index++) yield* store.commit(partition, [put(`r${index}`, body)])
      yield* store.commit(other, [put("small", "")])

      const query = { indexTerms: ["all"], offset: 0, limit: 1_000 }
      const list = Effect.runPromise(store.list(partition, [query]))
      const get = Effect.runPromise(store.get(other, ["small"]))
      const first = yield* Effect.promise(() => Promise.race([list.then(() => "list"), get.then(() => "get")]))
      // Replies have the order of their commands: in one reply, the page would come first.
      assert.strictEqual(first, "get")

      const [page] = yield* Effect.promise(() => list)
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
