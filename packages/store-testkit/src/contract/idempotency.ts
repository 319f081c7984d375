import { deepEqual, equal } from "node:assert/strict"
import { add, cases, emptyResult, makeIdempotency, put } from "./ContractCase.ts"

export const idempotency = cases("idempotency", {
  *"a repeated id changes nothing and returns the first result"({ commit, counter, get }) {
    const first = yield* commit(
      [put("a", { body: "first" }), add("n", 2)],
      makeIdempotency("id", { result: "first result" })
    )
    equal(first.replayed, undefined)
    const replay = yield* commit(
      [put("a", { body: "second" }), add("n", 2)],
      makeIdempotency("id", { result: "second result" })
    )
    deepEqual(replay, {
      versions: first.versions,
      totals: first.totals,
      replayed: { fingerprint: "fingerprint of id", result: "first result" }
    })
    equal(yield* counter("n"), 2)
    equal((yield* get("a"))?.body, "first")
  },

  *"a replay returns the record and counter names of the first commit"({ commit }) {
    const first = yield* commit([put("a"), add("n", 2), put("b")], makeIdempotency("id"))
    for (const changes of [[put("c"), add("m", 1)], [put("b"), put("a"), put("c")], []]) {
      const { versions, totals } = yield* commit(changes, makeIdempotency("id"))
      deepEqual({ versions, totals }, first)
    }
  },

  *"a replay succeeds even if its changes would now conflict"({ commit, getConflict }) {
    yield* commit([add("n", 10, 10)], makeIdempotency("id"))
    deepEqual(yield* getConflict([add("n", 10, 10)]), { reason: "counter-exceeded", name: "n" })
    equal((yield* commit([add("n", 10, 10)], makeIdempotency("id"))).totals.get("n"), 10)
  },

  *"a replay returns the fingerprint of the first commit"({ commit }) {
    yield* commit([add("n", 1)], makeIdempotency("id", { fingerprint: "one" }))
    const { replayed } = yield* commit([add("n", 2)], makeIdempotency("id", { fingerprint: "two" }))
    equal(replayed?.fingerprint, "one")
  },

  *"a rejected commit does not use up its id"({ commit, counter, getConflict }) {
    deepEqual(yield* getConflict([add("n", 5, 4)], makeIdempotency("id")), { reason: "counter-exceeded", name: "n" })
    const later = yield* commit([add("n", 5, 5)], makeIdempotency("id"))
    deepEqual(later, { versions: new Map(), totals: new Map([["n", 5]]) })
    equal(yield* counter("n"), 5)
  },

  *"commits with different ids are independent"({ commit, counter }) {
    yield* commit([add("n", 1)], makeIdempotency("one"))
    yield* commit([add("n", 1)], makeIdempotency("two"))
    equal(yield* counter("n"), 2)
  },

  *"an id is remembered after many other ids"({ commit, counter }) {
    yield* commit([add("n", 1)], makeIdempotency("first", { ttl: 20_000 }))
    for (let index = 0; index < 200; index++) yield* commit([], makeIdempotency(`later ${index}`))
    const start = performance.now()
    while (performance.now() < start + 60) yield* commit([add("n", 1)], makeIdempotency("first"))
    equal(yield* counter("n"), 1)
  },

  *"the id of a commit without changes is remembered"({ commit }) {
    deepEqual(yield* commit([], makeIdempotency("id")), emptyResult())
    deepEqual(yield* commit([], makeIdempotency("id")), {
      ...emptyResult(),
      replayed: { fingerprint: "fingerprint of id", result: "result of id" }
    })
  },

  *"any string can be an id, a fingerprint or a result"({ commit }) {
    for (const value of ["", "a:b\n{c}", "nul\u0000byte", "🗝️", "'\"\\", "x".repeat(5_000)]) {
      yield* commit([], makeIdempotency(value, { fingerprint: value, result: value }))
      deepEqual((yield* commit([], makeIdempotency(value))).replayed, { fingerprint: value, result: value })
    }
  },

  *"an id is scoped to its partition"({ commit, store }) {
    const other = "keys/other/once" as Parameters<typeof store.get>[0]
    yield* store.clear(other)
    yield* commit([add("n", 1)], makeIdempotency("id"))
    deepEqual(yield* store.commit(other, [add("n", 1)], makeIdempotency("id")), {
      versions: new Map(),
      totals: new Map([["n", 1]])
    })
    yield* store.clear(other)
  }
})
