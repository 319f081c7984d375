import { deepEqual, equal, fail } from "node:assert/strict"
import { Change } from "@tollgate/store"
import { add, cases, getVersions, makeIdempotency, put, raise } from "./ContractCase.ts"

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
  },

  *"a negative add lowers a counter to 0 at most"({ commit, counter }) {
    yield* commit([add("n", 10)])
    equal((yield* commit([add("n", -3)])).totals.get("n"), 7)
    equal((yield* commit([add("n", -7)])).totals.get("n"), 0)
    equal((yield* commit([add("n", -1)])).totals.get("n"), 0)
    yield* commit([add("n", 5)])
    equal((yield* commit([add("n", -6)])).totals.get("n"), 0)
    equal((yield* commit([put("a"), add("n", -6)])).totals.get("n"), 0)
    equal(yield* counter("n"), 0)
    equal((yield* commit([add("n", 2)])).totals.get("n"), 2)
  },

  *"a negative add to a missing counter leaves it at 0"({ commit, counter }) {
    equal((yield* commit([add("n", -5)])).totals.get("n"), 0)
    equal((yield* commit([put("a"), add("m", -5)])).totals.get("m"), 0)
    equal(yield* counter("n"), 0)
    equal((yield* commit([add("n", 3, 3)])).totals.get("n"), 3)
  },

  *"a negative add is never refused, also above its maximum"({ commit, getConflict }) {
    yield* commit([add("n", 10), add("m", 10)])
    equal((yield* commit([add("n", -1, 5)])).totals.get("n"), 9)
    equal((yield* commit([add("n", -1, 0)])).totals.get("n"), 8)
    equal((yield* commit([put("a"), add("m", -1, 5)])).totals.get("m"), 9)
    deepEqual(yield* getConflict([add("m", -9), add("n", 1, 5)]), { reason: "counter-exceeded", name: "n" })
    equal((yield* commit([add("m", -Number.MAX_SAFE_INTEGER)])).totals.get("m"), 0)
  },

  *"a replay of a negative add lowers nothing"({ commit, counter }) {
    yield* commit([add("n", 10)])
    const first = yield* commit([add("n", -4), raise("m", 3)], makeIdempotency("id"))
    deepEqual(
      first.totals,
      new Map([
        ["n", 6],
        ["m", 3]
      ])
    )
    yield* commit([raise("m", 9)])
    for (const changes of [[add("n", -4), raise("m", 3)], []]) {
      deepEqual((yield* commit(changes, makeIdempotency("id"))).totals, first.totals)
    }
    equal(yield* counter("n"), 6)
    equal(yield* counter("m"), 9)
  },

  *"raise sets a counter unless it is higher"({ commit, counter }) {
    equal((yield* commit([raise("n", 5)])).totals.get("n"), 5)
    equal((yield* commit([raise("n", 3)])).totals.get("n"), 5)
    equal((yield* commit([put("a"), raise("n", 4)])).totals.get("n"), 5)
    equal((yield* commit([put("b"), raise("n", 8)])).totals.get("n"), 8)
    equal((yield* commit([raise("n", Number.MAX_SAFE_INTEGER)])).totals.get("n"), Number.MAX_SAFE_INTEGER)
    equal(yield* counter("n"), Number.MAX_SAFE_INTEGER)
    equal((yield* commit([raise("m", 0)])).totals.get("m"), 0)
    equal((yield* commit([add("n", -1)])).totals.get("n"), Number.MAX_SAFE_INTEGER - 1)
  },

  *"a commit with refused changes raises nothing"({ commit, counter, getConflict }) {
    yield* commit([raise("n", 5)])
    deepEqual(yield* getConflict([raise("n", 9), add("m", 2, 1)]), { reason: "counter-exceeded", name: "m" })
    deepEqual(yield* getConflict([add("m", 2, 1), raise("n", 9)]), { reason: "counter-exceeded", name: "m" })
    deepEqual(yield* getConflict([raise("n", 9), put("a", { expect: 7 })]), { reason: "stale", name: "a" })
    equal(yield* counter("n"), 5)
  },

  *"raise extends the time to live and never shortens it"({ commit, counter }) {
    yield* commit([Change.Raise({ counter: "n", to: 1, ttl: 600_000 })])
    yield* commit([Change.Raise({ counter: "n", to: 2, ttl: 1 })])
    // On a busy machine, the first may have expired before the second is applied.
    for (const ttl of [40, 400, 4_000]) {
      const name = `m-${ttl}`
      const start = performance.now()
      yield* commit([Change.Add({ counter: name, by: 3, ttl })])
      yield* commit([Change.Raise({ counter: name, to: 1, ttl: 600_000 })])
      // The store's clock may have coarser ticks.
      const isExtended = performance.now() < start + ttl - 10
      while (isExtended && performance.now() < start + 2 * ttl) {
        equal(yield* counter("n"), 2)
        equal(yield* counter(name), 3)
      }
      if (isExtended) return
    }
    fail("The machine is too busy: four seconds passed between two commits")
  }
})
