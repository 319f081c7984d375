/**
 * The store in a host that has ioredis 5 installed and opens the store with a URL or options.
 */
import { assert, describe, it } from "@effect/vitest"
import { RedisStore } from "@tollgate/redis"
import { Change, Partition } from "@tollgate/store"
import { startFaultyProxy, startRedis } from "@tollgate/testing"
import { Effect } from "effect"
import { Redis } from "ioredis"
import { Redis as Redis5 } from "ioredis5"
import { vi } from "vitest"

vi.mock("ioredis", () => import("ioredis5"))

const partition = Partition.forKeyBucket("acme", "production")

describe("a Redis store over ioredis 5", () => {
  it.live("applies a commit once and returns its result when the reply is lost", () =>
    Effect.gen(function* () {
      assert.strictEqual<unknown>(Redis, Redis5)
      const { url } = yield* startRedis()
      const proxy = yield* startFaultyProxy(url)
      const proxyUrl = `redis://127.0.0.1:${proxy.port}`
      for (const [index, source] of [proxyUrl, { host: "127.0.0.1", port: proxy.port }].entries()) {
        const store = yield* Effect.acquireRelease(
          Effect.promise(() => RedisStore.open(source)),
          (store) => Effect.promise(() => store.close())
        )
        proxy.cutReplyTo(`mark ${index}`)
        const committed = yield* store.commit(partition, [
          Change.Put({ key: `r${index}`, expect: 0, body: `mark ${index}`, indexTerms: [], uniqueKeys: [] }),
          Change.Add({ counter: "n", by: 1, ttl: 60_000 })
        ])
        assert.strictEqual(proxy.cuts(), index + 1)
        assert.strictEqual(committed.totals.get("n"), index + 1)
      }
    })
  )
})
