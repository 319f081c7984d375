/**
 * A counter that is given back completely takes no space.
 */
import { deepEqual, equal, ok } from "node:assert/strict"
import { Change } from "@tollgate/store"
import { Clock, Effect } from "effect"
import { add, cases, put, raise, type StoreFixture } from "./ContractCase.ts"
import { toCounterNames } from "./entries.ts"

const listCounters = ({ readEntries }: StoreFixture) => Effect.map(readEntries, toCounterNames)

const names = ["a", "b", "c", "d", "e", "f", "g", "h"]
const commitTogether = ({ commit }: StoreFixture, changes: ReadonlyArray<Change>) =>
  Effect.forEach(changes, (change) => commit([change]), { concurrency: "unbounded" })

export const counterRemoval = cases("counters", {
  *"a counter that a negative add brings to 0 is removed"(fixture) {
    const { commit, counter } = fixture
    yield* commit([add("kept", 2), add("a", 2), add("b", 2), add("c", 2), raise("d", 2)])
    equal((yield* commit([add("a", -2)])).totals.get("a"), 0)
    equal((yield* commit([put("r"), add("b", -2)])).totals.get("b"), 0)
    yield* commit([add("c", -9), add("d", -2), add("missing", -1), add("kept", -1)])
    deepEqual(yield* listCounters(fixture), ["kept"])
    equal(yield* counter("a"), 0)
    equal((yield* commit([add("a", 3, 3), put("s")])).totals.get("a"), 3)
    deepEqual(yield* listCounters(fixture), ["a", "kept"])
  },

  *"raise keeps a counter that it leaves at 0"(fixture) {
    yield* fixture.commit([raise("n", 0)])
    yield* fixture.commit([put("a"), raise("m", 0)])
    deepEqual(yield* listCounters(fixture), ["m", "n"])
    yield* fixture.commit([add("n", -1)])
    yield* fixture.commit([put("b"), add("m", -1)])
    deepEqual(yield* listCounters(fixture), [])
  },

  *"a counter that was removed starts again with its own time to live"(fixture) {
    const { commit, readEntries } = fixture
    const [shortTtl, longTtl] = [600_000, 86_400_000]
    const before = yield* Clock.currentTimeMillis
    for (const by of [1, -1]) {
      yield* commit([Change.Add({ counter: "n", by, ttl: longTtl })])
      yield* commit([put(`r${by}`), Change.Add({ counter: "m", by, ttl: longTtl })])
    }
    yield* commit([Change.Add({ counter: "n", by: 1, ttl: shortTtl })])
    yield* commit([put("r"), Change.Add({ counter: "m", by: 1, ttl: shortTtl })])
    const entries = yield* readEntries
    deepEqual(toCounterNames(entries), ["m", "n"])
    for (const entry of entries) {
      if (entry._tag === "Counter") ok(entry.expiresAt <= before + shortTtl * 2, `${entry.expiresAt - before} ms`)
    }
  },

  *"the last of several concurrent commits decides whether a counter is removed"(fixture) {
    const { commit, store, partition } = fixture
    yield* commit(names.map((name) => add(name, 1)))
    yield* commitTogether(fixture, [...names.map((name) => add(name, -1)), ...names.map((name) => add(name, 1))])
    deepEqual(yield* store.counters(partition, names), [1, 1, 1, 1, 1, 1, 1, 1])
    deepEqual(yield* listCounters(fixture), names)
    // Each order is possible, so some of them may be 1 afterwards.
    yield* commitTogether(
      fixture,
      names.flatMap((name) => [add(name, 1), add(name, -1), add(name, -1)])
    )
    const values = yield* store.counters(partition, names)
    deepEqual(
      yield* listCounters(fixture),
      names.filter((_, index) => values[index] !== 0)
    )
  }
})
