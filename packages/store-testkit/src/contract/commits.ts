import { deepEqual, equal } from "node:assert/strict"
import { Change } from "@tollgate/core"
import { add, cases, emptyResult, inOrder, put } from "../ContractCase.ts"

export const commits = cases("commits", {
  *"a commit answers the versions of its puts by key and the totals of its adds by counter"({ commit, get }) {
    const { versions, totals } = yield* commit([put("b"), add("n", 5), put("a"), add("m", 1)])
    deepEqual(
      versions,
      new Map([
        ["a", (yield* get("a"))?.version],
        ["b", (yield* get("b"))?.version]
      ])
    )
    deepEqual(
      totals,
      new Map([
        ["n", 5],
        ["m", 1]
      ])
    )
  },

  *"a refused commit leaves nothing behind, whichever change was refused"({
    commit,
    store,
    partition,
    refusal,
    list,
    holder,
    counter
  }) {
    const [version = 0] = inOrder(yield* commit([put("old", { indexTerms: ["t"], uniqueKeys: ["c"] }), add("n", 5)]))
    const before = yield* store.get(partition, ["old"])
    const good = [
      put("new", { indexTerms: ["t"], uniqueKeys: ["fresh"] }),
      put("old", { expect: version, body: "changed", indexTerms: ["u"], uniqueKeys: ["d"] }),
      add("n", 1),
      add("m", 1)
    ]
    const bad = [
      put("stale", { expect: 999_999 }),
      Change.Delete({ key: "none", expect: 1 }),
      Change.Check({ key: "none", expect: 1 }),
      put("thief", { uniqueKeys: ["fresh"] }),
      Change.AtMost({ term: "t", atMost: 0 }),
      add("full", 2, 1)
    ]
    for (const change of bad) {
      for (const changes of [
        [change, ...good],
        [...good, change],
        [...good.slice(0, 2), change, ...good.slice(2)]
      ]) {
        yield* refusal(changes)
        deepEqual(yield* store.get(partition, ["old", "new", "stale", "thief"]), [
          ...before,
          undefined,
          undefined,
          undefined
        ])
        deepEqual(yield* list(["t"]), { keys: ["old"], total: 1 })
        deepEqual(yield* list(["u"]), { keys: [], total: 0 })
        deepEqual([yield* holder("c"), yield* holder("d"), yield* holder("fresh")], ["old", undefined, undefined])
        deepEqual([yield* counter("n"), yield* counter("m"), yield* counter("full")], [5, 0, 0])
      }
    }
  },

  *"the first change that cannot be is the one that is named"({ commit, refusal }) {
    yield* commit([put("a", { uniqueKeys: ["c"], indexTerms: ["t"] })])
    const stale = put("a")
    const claimed = put("b", { uniqueKeys: ["c"] })
    const limit = Change.AtMost({ term: "t", atMost: 0 })
    const exceeded = add("n", 2, 1)
    deepEqual(yield* refusal([stale, claimed, limit, exceeded]), { reason: "stale", name: "a" })
    deepEqual(yield* refusal([claimed, limit, exceeded]), { reason: "unique-key", name: "c" })
    deepEqual(yield* refusal([limit, exceeded, claimed]), { reason: "limit", name: "t" })
    deepEqual(yield* refusal([exceeded, limit, claimed]), { reason: "exceeded", name: "n" })
  },

  *"a limit looks at how many carried the term before the commit"({ commit, refusal, list }) {
    const versions = inOrder(yield* commit([put("a", { indexTerms: ["t"] }), put("b", { indexTerms: ["t"] })]))
    yield* commit([Change.AtMost({ term: "t", atMost: 2 }), put("c", { indexTerms: ["t"] })])
    deepEqual(yield* refusal([Change.AtMost({ term: "t", atMost: 2 }), put("d", { indexTerms: ["t"] })]), {
      reason: "limit",
      name: "t"
    })
    deepEqual(
      yield* refusal([Change.AtMost({ term: "t", atMost: 2 }), Change.Delete({ key: "a", expect: versions[0] ?? 0 })]),
      { reason: "limit", name: "t" }
    )
    equal((yield* list(["t"])).total, 3)
    yield* commit([Change.AtMost({ term: "never used", atMost: 0 }), put("e")])
  },

  *"a commit of checks alone is answered"({ commit, refusal }) {
    deepEqual(yield* commit([Change.Check({ key: "a", expect: 0 })]), emptyResult())
    deepEqual(yield* refusal([Change.Check({ key: "a", expect: 3 })]), { reason: "stale", name: "a" })
  }
})
