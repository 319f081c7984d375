import { deepEqual, equal } from "node:assert/strict"
import { Effect, Result } from "effect"
import { add, cases, getVersions, makeIdempotency, put } from "./ContractCase.ts"

export const clear = cases("clear", {
  *"clear removes records, index terms, unique keys, counters and idempotency records"({
    commit,
    store,
    partition,
    get,
    list,
    findOwner,
    counter
  }) {
    yield* commit([put("a", { indexTerms: ["t", "u"], uniqueKeys: ["c"] }), add("n", 3)], makeIdempotency("id"))
    yield* store.clear(partition)
    equal(yield* get("a"), undefined)
    deepEqual(yield* list(["t"]), { keys: [], total: 0 })
    deepEqual(yield* list(["t", "u"]), { keys: [], total: 0 })
    equal(yield* findOwner("c"), undefined)
    equal(yield* counter("n"), 0)
    deepEqual(yield* commit([add("n", 1)], makeIdempotency("id")), { versions: new Map(), totals: new Map([["n", 1]]) })
  },

  *"clear does not affect other partitions"({ commit, get, store, partition }) {
    yield* commit([put("a", { indexTerms: ["t"] })])
    const neighbour = `${partition}x` as typeof partition
    yield* store.commit(neighbour, [put("b", { indexTerms: ["t"] })])
    yield* store.clear(neighbour)
    deepEqual(yield* store.get(neighbour, ["b"]), [undefined])
    equal((yield* get("a"))?.key, "a")
  },

  *"a cleared partition can be reused"({ commit, store, partition, list, findOwner }) {
    yield* commit([put("a", { indexTerms: ["t"], uniqueKeys: ["c"] })])
    yield* store.clear(partition)
    yield* commit([put("b", { indexTerms: ["t"], uniqueKeys: ["c"] })])
    deepEqual(yield* list(["t"]), { keys: ["b"], total: 1 })
    equal(yield* findOwner("c"), "b")
  },

  *"clear removes the other records while one record is constantly rewritten"({ commit, store, partition, list }) {
    const versions = getVersions(
      yield* commit([
        put("rewritten"),
        ...Array.from({ length: 300 }, (_, index) => put(`r${index}`, { indexTerms: ["t"] }))
      ])
    )
    let version = versions[0] ?? 0
    let isCleared = false
    const writer = Effect.gen(function* () {
      while (!isCleared) {
        const result = yield* Effect.result(commit([put("rewritten", { expect: version })]))
        version = Result.isSuccess(result) ? (getVersions(result.success)[0] ?? 0) : 0
      }
    })
    const clearing = Effect.tap(store.clear(partition), () =>
      Effect.sync(() => {
        isCleared = true
      })
    )
    const watcher = Effect.gen(function* () {
      // `clear` may never complete while a writer keeps writing, but it removes all other records.
      while (!isCleared && (yield* list(["t"])).total > 0) yield* Effect.yieldNow
      isCleared = true
    })
    yield* Effect.all([writer, watcher, Effect.timeoutOption(clearing, "10 seconds")], { concurrency: "unbounded" })
    equal((yield* list(["t"])).total, 0)
  },

  *"clear succeeds on an empty partition and when repeated"({ commit, store, partition, get }) {
    yield* store.clear(partition)
    yield* commit([put("a")])
    yield* store.clear(partition)
    yield* store.clear(partition)
    equal(yield* get("a"), undefined)
  }
})
