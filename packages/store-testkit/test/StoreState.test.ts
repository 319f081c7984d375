import { assert, layer } from "@effect/vitest"
import { Change, Partition, Store } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { StoreState, stateHash } from "@tollgate/store-testkit"
import { Effect } from "effect"

const put = (key: string, expect = 0, body = "body") =>
  Change.Put({ key, expect, body, indexTerms: ["t"], uniqueKeys: [key] })

layer(StoreState.layer(MemoryStore.layer))("the state hash", (it) => {
  it.effect("changes with every change, and with nothing else", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const partition = Partition.keys("state", "hash")
      const seen = new Set<string>()
      const differs = Effect.fnUntraced(function* (change: Effect.Effect<unknown, unknown>) {
        yield* change
        const now = yield* stateHash
        assert.isFalse(seen.has(now))
        seen.add(now)
      })
      yield* differs(Effect.void)
      yield* differs(store.commit(partition, [put("a")]))
      yield* differs(store.commit(partition, [Change.Add({ counter: "n", by: 1, ttl: 60_000 })]))
      yield* differs(store.commit(partition, [put("a", 1)]))
      yield* differs(store.commit(Partition.keys("state", "other"), [put("a")]))
      const before = yield* stateHash
      yield* Effect.flip(store.commit(partition, [put("b"), put("a", 1, "lost")]))
      const unheard = Change.Put({
        key: "c",
        expect: 9,
        body: "",
        indexTerms: ["unheard of"],
        uniqueKeys: ["unheard of"]
      })
      yield* Effect.flip(store.commit(partition, [unheard]))
      yield* Effect.flip(store.commit(Partition.keys("state", "unheard of"), [unheard]))
      yield* store.list(partition, [{ indexTerms: ["t"], offset: 0, limit: 10 }])
      yield* store.commit(partition, [Change.Check({ key: "none", expect: 0 })])
      assert.strictEqual(yield* stateHash, before)
      yield* differs(store.commit(partition, [Change.Delete({ key: "a", expect: 2 })]))
    })
  )
})
