/**
 * The totals of large intersections, which the server keeps.
 */
import { assert, describe, it } from "@effect/vitest"
import { RedisStore } from "@tollgate/redis"
import { Change, Partition, type StoreOperations } from "@tollgate/store"
import { startRedis } from "@tollgate/testing"
import { Effect } from "effect"
import { Redis } from "ioredis"

const partition = Partition.forKeyBucket("acme", "production")
const totalsKey = `tollgate:{${partition}}:totals`
const terms = Array.from({ length: 16 }, (_, index) => `t${index}`)
/** So many that a list is read in two pieces. */
const commonTerms = Array.from({ length: 20 }, (_, index) => `common-${index}`)
const count = 1_000

const put = (key: string, indexTerms: ReadonlyArray<string>) =>
  Change.Put({ key, expect: 0, body: "", indexTerms, uniqueKeys: [] })

/** A server and a store with a thousand records that have all terms. */
const setUp = Effect.gen(function* () {
  const { url } = yield* startRedis()
  const store = yield* Effect.acquireRelease(
    Effect.promise(() => RedisStore.open(url, { commandTimeout: 20_000 })),
    (store) => Effect.promise(() => store.close())
  )
  const admin = yield* Effect.acquireRelease(
    Effect.sync(() => new Redis(url)),
    (admin) => Effect.sync(() => admin.disconnect())
  )
  yield* store.commit(
    partition,
    Array.from({ length: count }, (_, index) => put(`r${index}`, [...terms, ...commonTerms]))
  )
  // Each piece looks up its records in all terms but the smallest.
  const countPieces = Effect.promise(() => admin.info("commandstats")).pipe(
    Effect.map((info) => Number(/cmdstat_zmscore:calls=(\d+)/.exec(info)?.[1] ?? 0) / (commonTerms.length + 1))
  )
  return { store, admin, countPieces }
})

const listTotal = (store: StoreOperations, indexTerms: ReadonlyArray<string>, offset = 0) =>
  Effect.map(
    store.list(partition, [{ indexTerms: [...indexTerms, ...commonTerms], offset, limit: 1 }]),
    ([page]) => page?.total
  )

describe("the totals of large intersections", () => {
  it.live("are counted once for all pages, and again after a put", () =>
    Effect.gen(function* () {
      const { store, countPieces } = yield* setUp
      assert.strictEqual(yield* listTotal(store, ["t0", "t1"]), count)
      assert.strictEqual(yield* countPieces, 2)
      for (const offset of [0, 500]) assert.strictEqual(yield* listTotal(store, ["t0", "t1"], offset), count)
      assert.strictEqual(yield* listTotal(store, ["t1", "t0"]), count)
      assert.strictEqual(yield* countPieces, 5)
      yield* store.commit(partition, [put("new", ["t0", "t1", ...commonTerms])])
      assert.strictEqual(yield* listTotal(store, ["t0", "t1"]), count + 1)
      assert.strictEqual(yield* countPieces, 7)
    })
  )

  it.live("are limited in number, expire, and are removed by clear", () =>
    Effect.gen(function* () {
      const { store, admin } = yield* setUp
      const pairs = terms.flatMap((left, index) => terms.slice(index + 1).map((right) => [left, right]))
      assert.isAbove(pairs.length, 100)
      for (const pair of pairs) assert.strictEqual(yield* listTotal(store, pair), count)
      const length = yield* Effect.promise(() => admin.hlen(totalsKey))
      assert.isTrue(length > 0 && length <= 100, `${length} totals`)
      const ttl = yield* Effect.promise(() => admin.pttl(totalsKey))
      assert.isTrue(ttl > 0 && ttl <= 600_000, `${ttl} ms`)
      yield* store.clear(partition)
      assert.strictEqual(yield* Effect.promise(() => admin.exists(totalsKey)), 0)
    })
  )

  it.live("are counted each time while the server rejects writes", () =>
    Effect.gen(function* () {
      const { store, admin, countPieces } = yield* setUp
      for (const [setting, value, normal] of [
        ["maxmemory", "1", "0"],
        ["min-replicas-to-write", "1", "0"]
      ] as const) {
        const before = yield* countPieces
        yield* Effect.promise(() => admin.config("SET", setting, value))
        for (const _ of [1, 2]) assert.strictEqual(yield* listTotal(store, ["t0", "t1"]), count)
        assert.strictEqual(yield* countPieces, before + 4)
        yield* Effect.promise(() => admin.config("SET", setting, normal))
      }
    })
  )
})
