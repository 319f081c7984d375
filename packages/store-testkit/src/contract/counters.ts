import { deepEqual, equal } from "node:assert/strict"
import { Change } from "@tollgate/core/store"
import { add, cases, getVersions } from "./ContractCase.ts"

export const counters = cases("counters", {
  *"a counter starts at 0 and accumulates"({ commit, counter }) {
    equal(yield* counter("n"), 0)
    equal((yield* commit([add("n", 3)])).totals.get("n"), 3)
    equal((yield* commit([add("n", 4)])).totals.get("n"), 7)
    equal(yield* counter("n"), 7)
  },

  *"counters returns values in the order of the names"({ commit, store, partition }) {
    yield* commit([add("a", 1), add("b", 2)])
    deepEqual(yield* store.counters(partition, ["b", "none", "a"]), [2, 0, 1])
  },

  *"a counter reaches its maximum and never exceeds it"({ commit, counter, getConflict }) {
    yield* commit([add("n", 4, 10)])
    deepEqual(yield* getConflict([add("n", 7, 10)]), { reason: "counter-exceeded", name: "n" })
    equal(yield* counter("n"), 4)
    equal((yield* commit([add("n", 6, 10)])).totals.get("n"), 10)
    deepEqual(yield* getConflict([add("n", 1, 10)]), { reason: "counter-exceeded", name: "n" })
    equal(yield* counter("n"), 10)
  },

  *"a maximum of 0 rejects every add"({ getConflict, counter }) {
    deepEqual(yield* getConflict([add("n", 1, 0)]), { reason: "counter-exceeded", name: "n" })
    equal(yield* counter("n"), 0)
  },

  *"a maximum below the current value rejects adds and keeps the value"({ commit, counter, getConflict }) {
    yield* commit([add("n", 10)])
    deepEqual(yield* getConflict([add("n", 1, 5)]), { reason: "counter-exceeded", name: "n" })
    equal(yield* counter("n"), 10)
    equal((yield* commit([add("n", 1, 20)])).totals.get("n"), 11)
  },

  *"a commit adds to all of its counters or to none"({ commit, store, partition, getConflict }) {
    yield* commit([add("a", 1, 10), add("b", 9, 10)])
    deepEqual(yield* getConflict([add("a", 1, 10), add("b", 2, 10)]), { reason: "counter-exceeded", name: "b" })
    deepEqual(yield* getConflict([add("b", 2, 10), add("a", 1, 10)]), { reason: "counter-exceeded", name: "b" })
    deepEqual(yield* store.counters(partition, ["a", "b"]), [1, 9])
  },

  *"a conflict of a counter commit names the first change that conflicts"({ commit, getConflict }) {
    const [version = 0] = getVersions(
      yield* commit([Change.Put({ key: "a", expect: 0, body: "", indexTerms: [], uniqueKeys: [] })])
    )
    const stale = Change.Check({ key: "a", expect: version + 1 })
    const exceeded = add("n", 2, 1)
    deepEqual(yield* getConflict([stale, exceeded]), { reason: "stale", name: "a" })
    deepEqual(yield* getConflict([exceeded, stale]), { reason: "counter-exceeded", name: "n" })
  },

  *"large counter values are exact"({ commit, counter, getConflict }) {
    const max = Number.MAX_SAFE_INTEGER
    yield* commit([add("n", max - 1)])
    equal(yield* counter("n"), max - 1)
    equal((yield* commit([add("n", 1, max)])).totals.get("n"), max)
    equal(yield* counter("n"), max)
    deepEqual(yield* getConflict([add("n", 1)]), { reason: "counter-exceeded", name: "n" })
    equal((yield* commit([add("m", 1_000_000_000_000_001)])).totals.get("m"), 1_000_000_000_000_001)
    equal((yield* commit([add("m", 1)])).totals.get("m"), 1_000_000_000_000_002)
  },

  *"a counter keeps its time to live when a later add has a shorter one"({ commit, counter }) {
    yield* commit([Change.Add({ counter: "n", by: 1, ttl: 20_000 })])
    yield* commit([Change.Add({ counter: "m", by: 1, ttl: 600_000 })])
    yield* commit([Change.Add({ counter: "m", by: 1, ttl: 1 })])
    const start = performance.now()
    while (performance.now() < start + 60) {
      equal(yield* counter("n"), 1)
      equal(yield* counter("m"), 2)
    }
  },

  *"a counter and a record may have the same name"({ commit, store, partition }) {
    yield* commit([add("a", 1)])
    deepEqual(yield* store.get(partition, ["a"]), [undefined])
  }
})
