import { deepEqual, equal } from "node:assert/strict"
import { Change } from "@tollgate/store"
import { add, cases, emptyResult, getVersions, put } from "./ContractCase.ts"

export const commits = cases("commits", {
  *"a commit returns the versions of its puts by key and the totals of its adds by counter"({ commit, get }) {
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

  *"a rejected commit changes nothing, whichever change conflicts"({
    commit,
    store,
    partition,
    getConflict,
    list,
    findOwner,
    counter
  }) {
    const [version = 0] = getVersions(
      yield* commit([put("old", { indexTerms: ["t"], uniqueKeys: ["c"] }), add("n", 5)])
    )
    const before = yield* store.get(partition, ["old"])
    const valid = [
      put("new", { indexTerms: ["t"], uniqueKeys: ["fresh"] }),
      put("old", { expect: version, body: "changed", indexTerms: ["u"], uniqueKeys: ["d"] }),
      add("n", 1),
      add("m", 1)
    ]
    const conflicting = [
      put("stale", { expect: 999_999 }),
      Change.Delete({ key: "none", expect: 1 }),
      Change.Check({ key: "none", expect: 1 }),
      put("duplicate", { uniqueKeys: ["fresh"] }),
      Change.AtMost({ term: "t", atMost: 0 }),
      add("full", 2, 1)
    ]
    for (const change of conflicting) {
      for (const changes of [
        [change, ...valid],
        [...valid, change],
        [...valid.slice(0, 2), change, ...valid.slice(2)]
      ]) {
        yield* getConflict(changes)
        deepEqual(yield* store.get(partition, ["old", "new", "stale", "duplicate"]), [
          ...before,
          undefined,
          undefined,
          undefined
        ])
        deepEqual(yield* list(["t"]), { keys: ["old"], total: 1 })
        deepEqual(yield* list(["u"]), { keys: [], total: 0 })
        deepEqual(
          [yield* findOwner("c"), yield* findOwner("d"), yield* findOwner("fresh")],
          ["old", undefined, undefined]
        )
        deepEqual([yield* counter("n"), yield* counter("m"), yield* counter("full")], [5, 0, 0])
      }
    }
  },

  *"a conflict names the first change that conflicts"({ commit, getConflict }) {
    yield* commit([put("a", { uniqueKeys: ["c"], indexTerms: ["t"] })])
    const stale = put("a")
    const duplicate = put("b", { uniqueKeys: ["c"] })
    const limit = Change.AtMost({ term: "t", atMost: 0 })
    const exceeded = add("n", 2, 1)
    deepEqual(yield* getConflict([stale, duplicate, limit, exceeded]), { reason: "stale", name: "a" })
    deepEqual(yield* getConflict([duplicate, limit, exceeded]), { reason: "unique-key", name: "c" })
    deepEqual(yield* getConflict([limit, exceeded, duplicate]), { reason: "too-many-records", name: "t" })
    deepEqual(yield* getConflict([exceeded, limit, duplicate]), { reason: "counter-exceeded", name: "n" })
  },

  *"AtMost counts the records that had the term before the commit"({ commit, getConflict, list }) {
    const versions = getVersions(yield* commit([put("a", { indexTerms: ["t"] }), put("b", { indexTerms: ["t"] })]))
    yield* commit([Change.AtMost({ term: "t", atMost: 2 }), put("c", { indexTerms: ["t"] })])
    deepEqual(yield* getConflict([Change.AtMost({ term: "t", atMost: 2 }), put("d", { indexTerms: ["t"] })]), {
      reason: "too-many-records",
      name: "t"
    })
    deepEqual(
      yield* getConflict([
        Change.AtMost({ term: "t", atMost: 2 }),
        Change.Delete({ key: "a", expect: versions[0] ?? 0 })
      ]),
      { reason: "too-many-records", name: "t" }
    )
    equal((yield* list(["t"])).total, 3)
    yield* commit([Change.AtMost({ term: "never used", atMost: 0 }), put("e")])
  },

  *"a commit may consist of checks only"({ commit, getConflict }) {
    deepEqual(yield* commit([Change.Check({ key: "a", expect: 0 })]), emptyResult())
    deepEqual(yield* getConflict([Change.Check({ key: "a", expect: 3 })]), { reason: "stale", name: "a" })
  }
})
