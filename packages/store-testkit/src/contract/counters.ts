import { deepEqual, equal } from "node:assert/strict"
import { Change } from "@tollgate/core"
import { add, cases, inOrder } from "../ContractCase.ts"

export const counters = cases("counters", {
  *"a counter starts at nothing and adds up"({ commit, counter }) {
    equal(yield* counter("n"), 0)
    equal((yield* commit([add("n", 3)])).totals.get("n"), 3)
    equal((yield* commit([add("n", 4)])).totals.get("n"), 7)
    equal(yield* counter("n"), 7)
  },

  *"counters answers in the order of the names"({ commit, store, partition }) {
    yield* commit([add("a", 1), add("b", 2)])
    deepEqual(yield* store.counters(partition, ["b", "none", "a"]), [2, 0, 1])
  },

  *"a counter reaches its maximum and never passes it"({ commit, counter, refusal }) {
    yield* commit([add("n", 4, 10)])
    deepEqual(yield* refusal([add("n", 7, 10)]), { reason: "exceeded", name: "n" })
    equal(yield* counter("n"), 4)
    equal((yield* commit([add("n", 6, 10)])).totals.get("n"), 10)
    deepEqual(yield* refusal([add("n", 1, 10)]), { reason: "exceeded", name: "n" })
    equal(yield* counter("n"), 10)
  },

  *"a maximum of nothing lets nothing through"({ refusal, counter }) {
    deepEqual(yield* refusal([add("n", 1, 0)]), { reason: "exceeded", name: "n" })
    equal(yield* counter("n"), 0)
  },

  *"a maximum that fell below the counter stops it without changing it"({ commit, counter, refusal }) {
    yield* commit([add("n", 10)])
    deepEqual(yield* refusal([add("n", 1, 5)]), { reason: "exceeded", name: "n" })
    equal(yield* counter("n"), 10)
    equal((yield* commit([add("n", 1, 20)])).totals.get("n"), 11)
  },

  *"several counters rise together or not at all"({ commit, store, partition, refusal }) {
    yield* commit([add("a", 1, 10), add("b", 9, 10)])
    deepEqual(yield* refusal([add("a", 1, 10), add("b", 2, 10)]), { reason: "exceeded", name: "b" })
    deepEqual(yield* refusal([add("b", 2, 10), add("a", 1, 10)]), { reason: "exceeded", name: "b" })
    deepEqual(yield* store.counters(partition, ["a", "b"]), [1, 9])
  },

  *"a count is refused for the first of its changes that cannot be"({ commit, refusal }) {
    const [version = 0] = inOrder(
      yield* commit([Change.Put({ key: "a", expect: 0, body: "", indexTerms: [], uniqueKeys: [] })])
    )
    const stale = Change.Check({ key: "a", expect: version + 1 })
    const more = add("n", 2, 1)
    deepEqual(yield* refusal([stale, more]), { reason: "stale", name: "a" })
    deepEqual(yield* refusal([more, stale]), { reason: "exceeded", name: "n" })
  },

  *"large counts keep every digit"({ commit, counter, refusal }) {
    const most = Number.MAX_SAFE_INTEGER
    yield* commit([add("n", most - 1)])
    equal(yield* counter("n"), most - 1)
    equal((yield* commit([add("n", 1, most)])).totals.get("n"), most)
    equal(yield* counter("n"), most)
    deepEqual(yield* refusal([add("n", 1)]), { reason: "exceeded", name: "n" })
    equal((yield* commit([add("m", 1_000_000_000_000_001)])).totals.get("m"), 1_000_000_000_000_001)
    equal((yield* commit([add("m", 1)])).totals.get("m"), 1_000_000_000_000_002)
  },

  *"a counter is kept for as long as was asked, also when a later one asks for less"({ commit, counter }) {
    yield* commit([Change.Add({ counter: "n", by: 1, ttl: 20_000 })])
    yield* commit([Change.Add({ counter: "m", by: 1, ttl: 600_000 })])
    yield* commit([Change.Add({ counter: "m", by: 1, ttl: 1 })])
    const start = performance.now()
    while (performance.now() < start + 60) {
      equal(yield* counter("n"), 1)
      equal(yield* counter("m"), 2)
    }
  },

  *"a counter with the name of a record is not that record"({ commit, store, partition }) {
    yield* commit([add("a", 1)])
    deepEqual(yield* store.get(partition, ["a"]), [undefined])
  }
})
