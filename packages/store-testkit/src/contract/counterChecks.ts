/**
 * A commit may depend on the value of a counter, which the same commit may change.
 */
import { deepEqual, equal } from "node:assert/strict"
import { Change, StoreConflict } from "@tollgate/store"
import { Effect } from "effect"
import {
  add,
  cases,
  checkCounter,
  emptyResult,
  getVersions,
  makeIdempotency,
  put,
  raise,
  type StoreFixture
} from "./ContractCase.ts"
import { toCounterNames } from "./entries.ts"
import { take } from "./rateLimitCases.ts"

const times = (count: number) => Array.from({ length: count }, (_, index) => index)

const staleCounter = { reason: "stale", name: "n" }

const isConflict = (error: unknown): boolean => error instanceof StoreConflict

/** Adds 1 to a counter by reading and checking it, again after each conflict. `others` are further changes. */
const increment = ({ commit, counter }: StoreFixture, name: string, others: ReadonlyArray<Change> = []) =>
  Effect.gen(function* () {
    const value = yield* counter(name)
    return yield* commit([...others, checkCounter(name, value), add(name, 1)])
  }).pipe(Effect.retry({ while: isConflict }))

export const counterChecks = cases("counters", {
  *"a check of a counter conflicts unless it has the expected value, and changes nothing"(fixture) {
    const { commit, counter, get, getConflict, readEntries } = fixture
    yield* commit([add("n", 5)])
    for (const expect of [0, 4, 6, Number.MAX_SAFE_INTEGER]) {
      deepEqual(yield* getConflict([checkCounter("n", expect)]), staleCounter)
      deepEqual(yield* getConflict([add("m", 1), checkCounter("n", expect)]), staleCounter)
      deepEqual(yield* getConflict([put("a"), checkCounter("n", expect)]), staleCounter)
    }
    equal(yield* get("a"), undefined)
    equal(yield* counter("m"), 0)
    deepEqual(yield* commit([checkCounter("n", 5)]), emptyResult())
    deepEqual((yield* commit([add("m", 1), checkCounter("n", 5)])).totals, new Map([["m", 1]]))
    const { versions, totals } = yield* commit([checkCounter("n", 5), put("a"), raise("k", 2)])
    deepEqual([[...versions.keys()], totals], [["a"], new Map([["k", 2]])])
    equal(yield* counter("n"), 5)
    deepEqual(toCounterNames(yield* readEntries), ["k", "m", "n"])
  },

  *"a counter that does not exist has the value 0"(fixture) {
    const { commit, getConflict, readEntries } = fixture
    deepEqual(yield* commit([checkCounter("n", 0)]), emptyResult())
    deepEqual(yield* getConflict([checkCounter("n", 1)]), staleCounter)
    yield* commit([put("a"), checkCounter("n", 0)])
    deepEqual(toCounterNames(yield* readEntries), [])
    yield* commit([add("n", 3)])
    deepEqual(yield* getConflict([put("b"), checkCounter("n", 0)]), staleCounter)
    yield* commit([add("n", -3)])
    yield* commit([put("b"), checkCounter("n", 0)])
    yield* commit([raise("n", 0), checkCounter("n", 0)])
    yield* commit([checkCounter("n", 0), add("n", 1, 1)])
    deepEqual(toCounterNames(yield* readEntries), ["n"])
  },

  *"a counter is checked against its value before the commit, in any order"({ commit, counter, getConflict }) {
    const rounds = [
      [0, add("n", 2)],
      [2, add("n", 5)],
      [7, raise("n", 9)],
      [9, raise("n", 3)],
      [9, add("n", -4)],
      [5, add("n", -5)],
      [0, add("n", -1)]
    ] as const
    for (const [round, [value, change]] of rounds.entries()) {
      equal(yield* counter("n"), value)
      const check = checkCounter("n", value)
      const refused = checkCounter("n", value + 1)
      for (const changes of [
        [refused, change],
        [change, refused],
        [check, change, refused],
        [refused, change, put(`r${round}`), check]
      ]) {
        deepEqual(yield* getConflict(changes), staleCounter)
      }
      yield* commit(round % 2 === 0 ? [change, check, check] : [check, change, check, put(`r${round}`)])
    }
  },

  *"the first change that conflicts decides whether a check of a counter refuses"({ commit, getConflict }) {
    const [version = 0] = getVersions(yield* commit([put("a", { indexTerms: ["t"] }), add("n", 4), add("m", 4)]))
    const check = checkCounter("n", 1)
    for (const [other, conflict] of [
      [add("m", 1, 4), { reason: "counter-exceeded", name: "m" }],
      [add("n", 1, 4), { reason: "counter-exceeded", name: "n" }],
      [Change.Check({ key: "a", expect: version + 1 }), { reason: "stale", name: "a" }],
      [Change.AtMost({ term: "t", atMost: 0 }), { reason: "too-many-records", name: "t" }],
      [checkCounter("m", 3), { reason: "stale", name: "m" }]
    ] as const) {
      deepEqual(yield* getConflict([check, other]), staleCounter)
      deepEqual(yield* getConflict([other, check]), conflict)
    }
  },

  *"a counter has the value that counters returns, also if it is that of a rate limit"(fixture) {
    const { commit, counter, getConflict } = fixture
    yield* commit([checkCounter("n", 0), take("n")])
    const value = yield* counter("n")
    deepEqual(yield* getConflict([take("n"), checkCounter("n", 0)]), staleCounter)
    yield* commit([take("n"), checkCounter("n", value)])
    deepEqual(yield* getConflict([checkCounter("n", value)]), staleCounter)
  },

  *"a check of a large value is exact"({ commit, getConflict }) {
    const max = Number.MAX_SAFE_INTEGER
    yield* commit([checkCounter("n", 0), add("n", max - 1)])
    for (const expect of [max, max - 2]) deepEqual(yield* getConflict([checkCounter("n", expect)]), staleCounter)
    yield* commit([add("n", 1), checkCounter("n", max - 1)])
    yield* commit([put("a"), checkCounter("n", max)])
  },

  *"any string can be the name of a counter that is checked"({ commit, getConflict }) {
    for (const name of ["", "a b", "{a}", "nul\u0000byte", "🗝️", "__proto__", "x".repeat(5_000)]) {
      yield* commit([checkCounter(name, 0), add(name, 7)])
      yield* commit([checkCounter(name, 7)])
      deepEqual(yield* getConflict([checkCounter(name, 0)]), { reason: "stale", name })
    }
  },

  *"an expired counter has the value 0"({ commit, counter, getConflict }) {
    yield* commit(["n", "m"].map((counter) => Change.Add({ counter, by: 3, ttl: 50 })))
    const end = performance.now() + 1_000
    while (performance.now() < end && ((yield* counter("n")) > 0 || (yield* counter("m")) > 0));
    deepEqual(yield* getConflict([checkCounter("n", 3)]), staleCounter)
    deepEqual(yield* getConflict([checkCounter("n", 3), add("n", 1)]), staleCounter)
    yield* commit([checkCounter("n", 0), add("n", 1, 1)])
    yield* commit([put("a"), checkCounter("m", 0)])
    equal(yield* counter("n"), 1)
  },

  *"a check of a counter does not extend its time to live"({ commit, counter }) {
    yield* commit([Change.Add({ counter: "n", by: 3, ttl: 50 })])
    const end = performance.now() + 1_000
    while (performance.now() < end && (yield* Effect.isSuccess(commit([checkCounter("n", 3)]))));
    equal(yield* counter("n"), 0)
  },

  *"a cleared counter has the value 0"({ commit, store, partition, getConflict }) {
    yield* commit([add("n", 3)])
    yield* store.clear(partition)
    deepEqual(yield* getConflict([checkCounter("n", 3)]), staleCounter)
    yield* commit([checkCounter("n", 0)])
  },

  *"a copied counter can be checked"({ commit, copy }) {
    yield* commit([add("n", 3)])
    const { commit: commitToCopy, getConflict } = yield* copy
    deepEqual(yield* getConflict([checkCounter("n", 0)]), staleCounter)
    yield* commitToCopy([checkCounter("n", 3), add("n", 1)])
    deepEqual(yield* getConflict([checkCounter("n", 3)]), staleCounter)
  },

  *"a replay does not check counters again, and a refused check does not use up the id"(fixture) {
    const { commit, counter, getConflict } = fixture
    const changes = [checkCounter("n", 0), add("n", 2), put("a"), checkCounter("m", 0)]
    yield* commit([add("m", 1)])
    deepEqual(yield* getConflict(changes, makeIdempotency("id")), { reason: "stale", name: "m" })
    yield* commit([add("m", -1)])
    const first = yield* commit(changes, makeIdempotency("id"))
    deepEqual(first.totals, new Map([["n", 2]]))
    for (const repeated of [changes, [checkCounter("n", 7)], []]) {
      const { versions, totals, replayed } = yield* commit(repeated, makeIdempotency("id"))
      deepEqual({ versions, totals }, first)
      equal(replayed?.result, "result of id")
    }
    deepEqual(yield* getConflict(changes, makeIdempotency("other")), staleCounter)
    equal(yield* counter("n"), 2)
    deepEqual(yield* commit([checkCounter("n", 2)], makeIdempotency("check")), emptyResult())
    yield* commit([add("n", 1)])
    equal((yield* commit([checkCounter("n", 2)], makeIdempotency("check"))).replayed?.result, "result of check")
  },

  *"one of many concurrent commits that check the same value succeeds"(fixture) {
    const { commit, counter } = fixture
    for (const value of times(5)) {
      const attempts = times(30).map((index) => {
        const changes = [checkCounter("n", value), add("n", 1)]
        if (index % 3 === 1) changes.reverse()
        return Effect.isSuccess(commit(index % 3 === 2 ? [...changes, put(`r${value} ${index}`)] : changes))
      })
      const results = yield* Effect.all(attempts, { concurrency: "unbounded" })
      equal(results.filter((isApplied) => isApplied).length, 1)
      equal(yield* counter("n"), value + 1)
    }
  },

  *"concurrent loops that read, check and add lose no add"(fixture) {
    const loops = times(20).map((index) => increment(fixture, "n", index % 2 === 0 ? [] : [put(`r${index}`)]))
    yield* Effect.all(loops, { concurrency: "unbounded" })
    equal(yield* fixture.counter("n"), 20)
  },

  *"no add comes between the check of a counter and the record that is written with it"(fixture) {
    const { commit, counter, get } = fixture
    const [version = 0] = getVersions(yield* commit([put("a", { body: "" })]))
    // The adds need the record as it was, so that none succeeds once it has been written with the value of the counter.
    const check = Change.Check({ key: "a", expect: version })
    const close = Effect.gen(function* () {
      const value = yield* counter("n")
      yield* commit([checkCounter("n", value), put("a", { expect: version, body: String(value) })])
    }).pipe(Effect.retry({ while: isConflict }))
    const adds = times(60).map(() => Effect.isSuccess(commit([check, add("n", 1)])))
    const [, ...added] = yield* Effect.all([close, ...adds], { concurrency: "unbounded" })
    const total = added.filter((isAdded) => isAdded).length
    equal((yield* get("a"))?.body, String(total))
    equal(yield* counter("n"), total)
  }
})
