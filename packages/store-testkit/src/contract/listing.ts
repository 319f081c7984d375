import { deepEqual, equal } from "node:assert/strict"
import { Change } from "@tollgate/core/store"
import { cases, getVersions, put } from "./ContractCase.ts"

const keys = (count: number) => Array.from({ length: count }, (_, index) => `r${index}`)

export const listing = cases("listing", {
  *"records are listed in creation order"({ commit, list }) {
    yield* commit([put("z", { indexTerms: ["t"] }), put("m", { indexTerms: ["t"] })])
    yield* commit([put("a", { indexTerms: ["t"] })])
    deepEqual(yield* list(["t"]), { keys: ["z", "m", "a"], total: 3 })
  },

  *"a page contains complete records"({ commit, store, partition, get }) {
    yield* commit([put("a", { indexTerms: ["t", "u"], uniqueKeys: ["c"], parent: "p", body: "whole" })])
    const [page] = yield* store.list(partition, [{ indexTerms: ["t"], offset: 0, limit: 10 }])
    deepEqual(page, { records: [yield* get("a")], total: 1 })
  },

  *"an update does not change a record's position"({ commit, list }) {
    const [first = 0] = getVersions(yield* commit([put("a", { indexTerms: ["t"] }), put("b", { indexTerms: ["t"] })]))
    yield* commit([put("a", { expect: first, indexTerms: ["t"], body: "updated" })])
    deepEqual(yield* list(["t"]), { keys: ["a", "b"], total: 2 })
  },

  *"a record that gains a term later is listed in creation order"({ commit, list }) {
    const [first = 0] = getVersions(
      yield* commit([put("a"), put("b", { indexTerms: ["t"] }), put("c", { indexTerms: ["t"] })])
    )
    yield* commit([put("a", { expect: first, indexTerms: ["t"] })])
    deepEqual(yield* list(["t"]), { keys: ["a", "b", "c"], total: 3 })
  },

  *"a deleted and recreated record is listed last"({ commit, list }) {
    const [first = 0] = getVersions(yield* commit([put("a", { indexTerms: ["t"] }), put("b", { indexTerms: ["t"] })]))
    yield* commit([Change.Delete({ key: "a", expect: first })])
    deepEqual(yield* list(["t"]), { keys: ["b"], total: 1 })
    yield* commit([put("a", { indexTerms: ["t"] })])
    deepEqual(yield* list(["t"]), { keys: ["b", "a"], total: 2 })
  },

  *"a deleted record is removed from all its terms"({ commit, list }) {
    const [version = 0] = getVersions(yield* commit([put("a", { indexTerms: ["t", "u"] })]))
    yield* commit([Change.Delete({ key: "a", expect: version })])
    deepEqual(yield* list(["t"]), { keys: [], total: 0 })
    deepEqual(yield* list(["u"]), { keys: [], total: 0 })
    deepEqual(yield* list(["t", "u"]), { keys: [], total: 0 })
  },

  *"a query with several terms lists the records that have all of them"({ commit, list }) {
    yield* commit([
      put("a", { indexTerms: ["x"] }),
      put("b", { indexTerms: ["x", "y"] }),
      put("c", { indexTerms: ["y"] }),
      put("d", { indexTerms: ["y", "x", "z"] })
    ])
    deepEqual(yield* list(["x", "y"]), { keys: ["b", "d"], total: 2 })
    deepEqual(yield* list(["y", "x"]), { keys: ["b", "d"], total: 2 })
    deepEqual(yield* list(["z", "y", "x"]), { keys: ["d"], total: 1 })
    deepEqual(yield* list(["x", "none"]), { keys: [], total: 0 })
  },

  *"a term matches exactly and case-sensitively"({ commit, list }) {
    yield* commit([
      put("a", { indexTerms: ["team:x"] }),
      put("b", { indexTerms: ["team:xy"] }),
      put("c", { indexTerms: ["Team:x"] })
    ])
    deepEqual(yield* list(["team:x"]), { keys: ["a"], total: 1 })
    deepEqual(yield* list(["team:"]), { keys: [], total: 0 })
  },

  *"consecutive pages have no gap or overlap, and each has the overall total"({ commit, list }) {
    const all = keys(25)
    yield* commit(all.map((key, index) => put(key, { indexTerms: index % 5 === 0 ? ["t"] : ["t", "u"] })))
    for (const [terms, expected] of [
      [["t"], all],
      [["t", "u"], all.filter((_, index) => index % 5 !== 0)]
    ] as const) {
      const listed: Array<string> = []
      for (let offset = 0; offset < expected.length; offset += 7) {
        const page = yield* list(terms, { offset, limit: 7 })
        equal(page.total, expected.length)
        listed.push(...page.keys)
      }
      deepEqual(listed, expected)
      deepEqual(yield* list(terms, { offset: expected.length, limit: 7 }), { keys: [], total: expected.length })
      deepEqual(yield* list(terms, { offset: 10_000, limit: 7 }), { keys: [], total: expected.length })
      deepEqual(yield* list(terms, { limit: 0 }), { keys: [], total: expected.length })
    }
  },

  *"the total reflects creates, updates and deletes"({ commit, list }) {
    const versions = getVersions(
      yield* commit([put("a", { indexTerms: ["t"] }), put("b", { indexTerms: ["t"] }), put("c")])
    )
    equal((yield* list(["t"])).total, 2)
    yield* commit([put("b", { expect: versions[1] ?? 0 }), put("c", { expect: versions[2] ?? 0, indexTerms: ["t"] })])
    deepEqual(yield* list(["t"]), { keys: ["a", "c"], total: 2 })
    yield* commit([Change.Delete({ key: "a", expect: versions[0] ?? 0 })])
    equal((yield* list(["t"])).total, 1)
  },

  *"several queries return one page each"({ commit, store, partition }) {
    yield* commit(keys(6).map((key, index) => put(key, { indexTerms: ["t", index % 2 === 0 ? "even" : "odd"] })))
    const pages = yield* store.list(partition, [
      { indexTerms: ["odd"], offset: 0, limit: 2 },
      { indexTerms: ["none"], offset: 0, limit: 2 },
      { indexTerms: ["t", "even"], offset: 1, limit: 1 },
      { indexTerms: ["t"], offset: 5, limit: 9 },
      { indexTerms: ["odd"], offset: 0, limit: 0 }
    ])
    deepEqual(
      pages.map(({ records, total }) => [records.map(({ key }) => key), total]),
      [
        [["r1", "r3"], 3],
        [[], 0],
        [["r2"], 3],
        [["r5"], 6],
        [[], 3]
      ]
    )
  },

  *"a descending query lists the newest records first, and counts its offset from the newest"({ commit, list }) {
    const all = keys(25)
    yield* commit(all.map((key, index) => put(key, { indexTerms: index % 5 === 0 ? ["t"] : ["t", "u"] })))
    for (const [terms, oldestFirst] of [
      [["t"], all],
      [["t", "u"], all.filter((_, index) => index % 5 !== 0)],
      [["u", "t"], all.filter((_, index) => index % 5 !== 0)]
    ] as const) {
      const expected = oldestFirst.toReversed()
      const total = expected.length
      deepEqual(yield* list(terms, { descending: true }), { keys: expected, total })
      deepEqual(yield* list(terms, { descending: true, limit: 3 }), { keys: expected.slice(0, 3), total })
      const listed: Array<string> = []
      for (let offset = 0; offset < total; offset += 7) {
        const page = yield* list(terms, { offset, limit: 7, descending: true })
        equal(page.total, total)
        listed.push(...page.keys)
      }
      deepEqual(listed, expected)
    }
  },

  *"a descending page beyond the end, or of no records, is empty and has the total"({ commit, list }) {
    yield* commit(keys(5).map((key) => put(key, { indexTerms: ["t", "u"] })))
    for (const terms of [["t"], ["t", "u"]]) {
      const descending = true
      deepEqual(yield* list(terms, { descending, offset: 4, limit: 3 }), { keys: ["r0"], total: 5 })
      for (const offset of [5, 6, 10_000, Number.MAX_SAFE_INTEGER]) {
        deepEqual(yield* list(terms, { descending, offset, limit: 3 }), { keys: [], total: 5 })
      }
      deepEqual(yield* list(terms, { descending, limit: 0 }), { keys: [], total: 5 })
      deepEqual(yield* list(terms, { descending, offset: 3, limit: 0 }), { keys: [], total: 5 })
      deepEqual(yield* list([...terms, "none"], { descending }), { keys: [], total: 0 })
    }
  },

  *"a descending query keeps the order of creation after updates and deletes"({ commit, list }) {
    const { versions } = yield* commit(keys(6).map((key) => put(key, { indexTerms: ["t", "u"] })))
    const expect = (key: string) => versions.get(key) ?? 0
    yield* commit([
      Change.Delete({ key: "r5", expect: expect("r5") }),
      Change.Delete({ key: "r2", expect: expect("r2") }),
      put("r0", { expect: expect("r0"), indexTerms: ["t", "u"] }),
      put("r3", { expect: expect("r3"), indexTerms: ["t"] })
    ])
    yield* commit([put("r2", { indexTerms: ["t", "u"] })])
    deepEqual(yield* list(["t"], { descending: true }), { keys: ["r2", "r4", "r3", "r1", "r0"], total: 5 })
    deepEqual(yield* list(["t", "u"], { descending: true }), { keys: ["r2", "r4", "r1", "r0"], total: 4 })
    deepEqual(yield* list(["t", "u"], { descending: true, offset: 1, limit: 2 }), { keys: ["r4", "r1"], total: 4 })
    deepEqual(yield* list(["t", "u"], { descending: false, limit: 2 }), { keys: ["r0", "r1"], total: 4 })
  }
})
