import { assert, layer } from "@effect/vitest"
import { MemoryStore } from "@tollgate/memory"
import { Change, Partition, Store } from "@tollgate/store"
import { StoreState, stateHash } from "@tollgate/store-testkit"
import { Effect } from "effect"
import { TestClock } from "effect/testing"

const put = (key: string, expect = 0, body = "body") =>
  Change.Put({ key, expect, body, indexTerms: ["t"], uniqueKeys: [key] })

layer(StoreState.layer(MemoryStore.layer))("stateHash", (it) => {
  it.effect("changes if and only if the content of the store changes", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const partition = Partition.forKeyBucket("state", "hash")
      const previousHashes = new Set<string>()
      const expectNewHash = Effect.fnUntraced(function* (change: Effect.Effect<unknown, unknown>) {
        yield* change
        const current = yield* stateHash
        assert.isFalse(previousHashes.has(current))
        previousHashes.add(current)
      })
      yield* expectNewHash(Effect.void)
      yield* expectNewHash(store.commit(partition, [put("a")]))
      yield* expectNewHash(store.commit(partition, [Change.Add({ counter: "n", by: 1, ttl: 60_000 })]))
      yield* expectNewHash(store.commit(partition, [put("a", 1)]))
      yield* expectNewHash(store.commit(partition, [Change.Raise({ counter: "m", to: 5, ttl: 60_000 })]))
      const take = Change.Take({ counter: "l", cost: 1, interval: 1_000_000, burst: 1, ttl: 60_000 })
      yield* expectNewHash(store.commit(partition, [take]))
      yield* expectNewHash(store.commit(Partition.forKeyBucket("state", "other"), [put("a")]))
      const before = yield* stateHash
      yield* Effect.flip(store.commit(partition, [put("b"), put("a", 1, "lost")]))
      yield* Effect.flip(store.commit(partition, [Change.Raise({ counter: "m", to: 6, ttl: 60_000 }), take]))
      const rejected = Change.Put({
        key: "c",
        expect: 9,
        body: "",
        indexTerms: ["unused"],
        uniqueKeys: ["unused"]
      })
      yield* Effect.flip(store.commit(partition, [rejected]))
      yield* Effect.flip(store.commit(Partition.forKeyBucket("state", "unused"), [rejected]))
      yield* store.list(partition, [{ indexTerms: ["t"], offset: 0, limit: 10 }])
      yield* store.commit(partition, [Change.Check({ key: "none", expect: 0 })])
      assert.strictEqual(yield* stateHash, before)
      yield* expectNewHash(store.commit(partition, [Change.Delete({ key: "a", expect: 2 })]))
    })
  )
  it.effect("keeps rate limits, which depend on the time, apart from counters", () =>
    Effect.gen(function* () {
      const partition = Partition.forKeyBucket("state", "limits")
      const takeSnapshot = Effect.fnUntraced(function* (delay: number) {
        const { store, state } = StoreState.watch(MemoryStore.open())
        yield* TestClock.adjust(delay)
        yield* store.commit(partition, [
          Change.Take({ counter: "l", cost: 1, interval: 1_000_000, burst: 1, ttl: 60_000 }),
          Change.Add({ counter: "n", by: 1, ttl: 60_000 })
        ])
        return (yield* state.snapshot)[partition]
      })
      const [early, late] = [yield* takeSnapshot(0), yield* takeSnapshot(500)]
      assert.deepStrictEqual({ ...early, limits: {} }, { ...late, limits: {} })
      assert.deepStrictEqual(early?.counters, { n: 1 })
      assert.strictEqual((late?.limits["l"] ?? 0) - (early?.limits["l"] ?? 0), 500_000)
    })
  )
})
