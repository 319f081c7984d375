import { assert, layer } from "@effect/vitest"
import { Change, Partition, Store } from "@tollgate/core/store"
import { MemoryStore } from "@tollgate/memory"
import { StoreState, stateHash } from "@tollgate/store-testkit"
import { Effect } from "effect"

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
      yield* expectNewHash(store.commit(Partition.forKeyBucket("state", "other"), [put("a")]))
      const before = yield* stateHash
      yield* Effect.flip(store.commit(partition, [put("b"), put("a", 1, "lost")]))
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
})
