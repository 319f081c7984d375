/**
 * What the store contract cannot see of counters and rate limits on Redis: lost replies, batches, expiry, stored
 * formats, and a server whose clock was set back.
 */
import { assert, it } from "@effect/vitest"
import { RedisStore, type RedisStoreOptions } from "@tollgate/redis"
import { Change, Partition, StoreConflict, type StoreOperations } from "@tollgate/store"
import { ManualClock } from "@tollgate/store-testkit"
import { startFaultyProxy, startRedis } from "@tollgate/testing"
import { Clock, Effect, Exit } from "effect"
import { Redis } from "ioredis"

const partition = Partition.forKeyBucket("acme", "production")
const hour = 3_600_000_000
const take = (counter: string, fields: Partial<Extract<Change, { _tag: "Take" }>> = {}) =>
  Change.Take({ counter, cost: 1, interval: hour, burst: 5, ttl: 30_000_000, ...fields })
const add = (counter: string, by = 1) => Change.Add({ counter, by, ttl: 60_000 })
const put = (key: string) => Change.Put({ key, expect: 0, body: "", indexTerms: [], uniqueKeys: [] })
const counterKey = (name: string) => `tollgate:{${partition}}:counter:${name}`

const open = (url: string, options?: RedisStoreOptions) =>
  Effect.acquireRelease(
    Effect.promise(() => RedisStore.open(url, options)),
    (store) => Effect.promise(() => store.close())
  )
const openAdmin = (url: string) =>
  Effect.acquireRelease(
    Effect.sync(() => new Redis(url)),
    (client) => Effect.sync(() => client.disconnect())
  )

/** What is taken from the limit "l", found out by taking once more. */
const countTaken = (store: StoreOperations) =>
  Effect.map(store.commit(partition, [take("l")]), ({ totals }) => Math.ceil((totals.get("l") ?? 0) / hour) - 1)

it.live("takes once when the reply is lost, in a batch and in a commit with records", () =>
  Effect.gen(function* () {
    const { url } = yield* startRedis()
    const proxy = yield* startFaultyProxy(url)
    const store = yield* open(`redis://127.0.0.1:${proxy.port}`)
    for (const [index, changes] of [
      [take("l"), add("mark 1")],
      [take("l"), Change.Raise({ counter: "mark 2", to: 7, ttl: 60_000 }), put("a")]
    ].entries()) {
      proxy.cutReplyTo(`mark ${index + 1}`)
      const { totals } = yield* store.commit(partition, changes)
      assert.strictEqual(proxy.cuts(), index + 1)
      assert.strictEqual(totals.get(`mark ${index + 1}`), index === 0 ? 1 : 7)
      assert.strictEqual(Math.ceil((totals.get("l") ?? 0) / hour), index + 1)
    }
    assert.strictEqual(yield* countTaken(store), 2)
  })
)

it.live("judges the commits of a batch one after the other, in one script", () =>
  Effect.gen(function* () {
    const { url } = yield* startRedis()
    const [store, admin] = [yield* open(url, { clock: "caller" }), yield* openAdmin(url)]
    yield* store.commit(partition, [add("warm up")])
    const getCalls = Effect.promise(() => admin.info("commandstats")).pipe(
      Effect.map((info) => Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? 0))
    )
    const before = yield* getCalls
    const limit = { interval: 1_000, burst: 3, ttl: 60_000 }
    const commits: ReadonlyArray<ReadonlyArray<Change>> = [
      [take("l", { ...limit, cost: 2 }), add("n")],
      [take("l", { ...limit, cost: 2 }), add("n")],
      [add("n", 5), take("k", limit), Change.Raise({ counter: "m", to: 4, ttl: 60_000 })],
      [take("k", limit), take("l", limit), add("n", -2), Change.Raise({ counter: "m", to: 3, ttl: 60_000 })],
      [take("k", limit), Change.Add({ counter: "n", by: 1, max: 4, ttl: 60_000 })],
      [take("k", limit), take("l", limit)],
      [take("k", limit)],
      [take("k", limit)]
    ]
    const outcomes = yield* Effect.forEach(commits, (changes) => Effect.result(store.commit(partition, changes)), {
      concurrency: "unbounded"
    }).pipe(Effect.provideService(Clock.Clock, new ManualClock()))
    assert.strictEqual(yield* getCalls, before + 1)
    assert.deepStrictEqual(
      outcomes.map((outcome) => {
        if ("success" in outcome) return Object.fromEntries(outcome.success.totals)
        const error = outcome.failure
        return error instanceof StoreConflict ? [error.reason, error.subject, error.retryAfter] : error
      }),
      [
        { l: 2_000, n: 1 },
        ["rate-limited", "l", 1_000],
        { n: 6, k: 1_000, m: 4 },
        { k: 2_000, l: 3_000, n: 4, m: 4 },
        ["counter-exceeded", "n", 0],
        ["rate-limited", "l", 1_000],
        { k: 3_000 },
        ["rate-limited", "k", 1_000]
      ]
    )
    assert.deepStrictEqual(yield* store.counters(partition, ["n", "m"]), [4, 4])
  })
)

it.live("gives limits a time to live, and clears them", () =>
  Effect.gen(function* () {
    const { url } = yield* startRedis()
    const [store, admin] = [yield* open(url), yield* openAdmin(url)]
    for (const [name, changes] of [
      ["batch", [take("batch", { ttl: 100_000 })]],
      ["commit", [take("commit", { ttl: 100_000 }), put("a")]]
    ] as const) {
      yield* store.commit(partition, changes)
      const remaining = yield* Effect.promise(() => admin.pttl(counterKey(name)))
      assert.isTrue(remaining > 90_000 && remaining <= 120_000, `${remaining}`)
    }
    yield* store.clear(partition)
    assert.deepStrictEqual(yield* Effect.promise(() => admin.keys("*:counter:*")), [])
  })
)

it.live("treats a limit as empty, not as blocked, after the server's clock was set back", () =>
  Effect.gen(function* () {
    const { url } = yield* startRedis()
    const [store, admin] = [yield* open(url), yield* openAdmin(url)]
    const limit = { interval: 20_000, burst: 2, ttl: 60_000 }
    for (const [name, changes] of [
      ["batch", [take("batch", limit)]],
      ["commit", [take("commit", limit), Change.AtMost({ term: "t", atMost: 0 })]]
    ] as const) {
      yield* store.commit(partition, changes)
      // The clock was an hour ahead when this was written.
      const state = Number(yield* Effect.promise(() => admin.get(counterKey(name))))
      yield* Effect.promise(() => admin.set(counterKey(name), String(state + hour), "KEEPTTL"))
      const error = yield* Effect.flip(store.commit(partition, changes))
      assert.deepInclude(error, { reason: "rate-limited" })
      assert.strictEqual(error instanceof StoreConflict ? error.retryAfter : undefined, 20_000)
      const attempt = Effect.exit(store.commit(partition, changes))
      yield* Effect.repeat(attempt, { until: Exit.isSuccess })
      assert.isAbove(yield* Effect.promise(() => admin.pttl(counterKey(name))), 0)
    }
  })
)
