import { deepEqual, equal } from "node:assert/strict"
import { Effect, Result } from "effect"
import { add, cases, inOrder, once, put } from "../ContractCase.ts"

export const clear = cases("clear", {
  *"clear removes records, terms, claims, counters and remembered ids"({
    commit,
    store,
    partition,
    get,
    list,
    holder,
    counter
  }) {
    yield* commit([put("a", { indexTerms: ["t", "u"], uniqueKeys: ["c"] }), add("n", 3)], once("id"))
    yield* store.clear(partition)
    equal(yield* get("a"), undefined)
    deepEqual(yield* list(["t"]), { keys: [], total: 0 })
    deepEqual(yield* list(["t", "u"]), { keys: [], total: 0 })
    equal(yield* holder("c"), undefined)
    equal(yield* counter("n"), 0)
    deepEqual(yield* commit([add("n", 1)], once("id")), { versions: new Map(), totals: new Map([["n", 1]]) })
  },

  *"clear leaves other partitions alone"({ commit, get, store, partition }) {
    yield* commit([put("a", { indexTerms: ["t"] })])
    const neighbour = `${partition}x` as typeof partition
    yield* store.commit(neighbour, [put("b", { indexTerms: ["t"] })])
    yield* store.clear(neighbour)
    deepEqual(yield* store.get(neighbour, ["b"]), [undefined])
    equal((yield* get("a"))?.key, "a")
  },

  *"a cleared partition can be used again"({ commit, store, partition, list, holder }) {
    yield* commit([put("a", { indexTerms: ["t"], uniqueKeys: ["c"] })])
    yield* store.clear(partition)
    yield* commit([put("b", { indexTerms: ["t"], uniqueKeys: ["c"] })])
    deepEqual(yield* list(["t"]), { keys: ["b"], total: 1 })
    equal(yield* holder("c"), "b")
  },

  *"a record that is written again and again does not keep the others from being cleared"({
    commit,
    store,
    partition,
    list
  }) {
    const versions = inOrder(
      yield* commit([
        put("busy"),
        ...Array.from({ length: 300 }, (_, index) => put(`r${index}`, { indexTerms: ["t"] }))
      ])
    )
    let version = versions[0] ?? 0
    let cleared = false
    const writer = Effect.gen(function* () {
      while (!cleared) {
        const written = yield* Effect.result(commit([put("busy", { expect: version })]))
        version = Result.isSuccess(written) ? (inOrder(written.success)[0] ?? 0) : 0
      }
    })
    const clearing = Effect.tap(store.clear(partition), () =>
      Effect.sync(() => {
        cleared = true
      })
    )
    const watcher = Effect.gen(function* () {
      // A clear may never end beside a writer that never does; the records that nobody writes are gone all the same.
      while (!cleared && (yield* list(["t"])).total > 0) yield* Effect.yieldNow
      cleared = true
    })
    yield* Effect.all([writer, watcher, Effect.timeoutOption(clearing, "10 seconds")], { concurrency: "unbounded" })
    equal((yield* list(["t"])).total, 0)
  },

  *"clearing what is empty, or clearing twice, is no error"({ commit, store, partition, get }) {
    yield* store.clear(partition)
    yield* commit([put("a")])
    yield* store.clear(partition)
    yield* store.clear(partition)
    equal(yield* get("a"), undefined)
  }
})
