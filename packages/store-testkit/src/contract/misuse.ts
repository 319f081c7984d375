import { deepEqual, equal, ok } from "node:assert/strict"
import { Change } from "@tollgate/store"
import { Effect, Exit } from "effect"
import { add, cases, checkCounter, getVersions, makeIdempotency, put, raise } from "./ContractCase.ts"
import { hour, take } from "./rateLimitCases.ts"

export const misuse = cases("misuse", {
  *"an invalid commit dies and changes nothing"({ commit, store, partition, get, counter }) {
    const version = getVersions(yield* commit([put("a"), add("n", 1)]))[0] ?? 0
    const before = yield* get("a")
    const invalidCommits: ReadonlyArray<ReadonlyArray<Change>> = [
      [put("a", { expect: version }), Change.Delete({ key: "a", expect: version })],
      [put("a", { expect: version }), Change.Check({ key: "a", expect: version })],
      [put("b"), put("b")],
      [add("n", 1), add("n", 1)],
      [add("n", 0)],
      [add("n", 1.5)],
      [add("n", Number.NaN)],
      [add("n", 1, 1.5)],
      [add("n", 1, -1)],
      [add("n", -1.5)],
      [add("n", -Infinity)],
      [add("n", -1, -1)],
      [Change.Add({ counter: "n", by: 1, ttl: 0 })],
      [Change.Add({ counter: "n", by: -1, ttl: 0 })],
      [raise("n", -1)],
      [raise("n", 1.5)],
      [raise("n", Number.MAX_SAFE_INTEGER + 1)],
      [Change.Raise({ counter: "n", to: 1, ttl: 0 })],
      [add("n", 1), raise("n", 1)],
      [take("l"), take("l")],
      [take("n"), add("n", 1)],
      [take("half \ud800")],
      [raise("half \ud800", 1)],
      [checkCounter("half \ud800", 0)],
      ...[-1, 0.5, Number.NaN, Number.MAX_SAFE_INTEGER + 1].map((expect) => [checkCounter("n", expect)]),
      [add("n", 1), checkCounter("n", 1), add("n", 1)],
      ...[0, -1, 1.5, Number.NaN, Infinity].flatMap((value) => [
        [take("l", { cost: value })],
        [take("l", { interval: value })],
        [take("l", { burst: value })],
        [take("l", { ttl: value })]
      ]),
      [take("l", { cost: 4, burst: 3 })],
      [take("l", { interval: 366 * 24 * hour + 1, burst: 1 })],
      [take("l", { interval: 183 * 24 * hour, burst: 3 })],
      [put("b", { expect: -1 })],
      [put("b", { expect: 0.5 })],
      [put("b", { indexTerms: ["t", "t"] })],
      [put("b", { uniqueKeys: ["c", "c"] })],
      [Change.Delete({ key: "none", expect: 0 })],
      [Change.AtMost({ term: "t", atMost: -1 })],
      [put("half \ud800")],
      [put("b", { body: "half \ud800" })],
      [put("b", { indexTerms: ["half \udc00"] })],
      [put("b", { uniqueKeys: ["half \ud800"] })],
      [add("half \ud800", 1)]
    ]
    for (const changes of invalidCommits) {
      const exit = yield* Effect.exit(commit([put("z"), ...changes]))
      ok(Exit.hasDies(exit), `should die: ${JSON.stringify(changes)}`)
    }
    ok(Exit.hasDies(yield* Effect.exit(commit([put("z")], makeIdempotency("id", { ttl: 0 })))))
    deepEqual(yield* store.get(partition, ["a", "b", "z"]), [before, undefined, undefined])
    equal(yield* counter("n"), 1)
    equal(yield* counter("l"), 0)
  },

  *"a query without a term, with too many terms or with an invalid page dies"({ list }) {
    ok(Exit.hasDies(yield* Effect.exit(list([]))))
    ok(Exit.hasDies(yield* Effect.exit(list(Array.from({ length: 101 }, (_, index) => `t${index}`)))))
    for (const page of [{ offset: -1 }, { limit: -1 }, { offset: 0.5 }, { limit: Number.NaN }, { after: -1 }]) {
      ok(Exit.hasDies(yield* Effect.exit(list(["t"], page))))
    }
  }
})
