import { deepEqual, equal, ok } from "node:assert/strict"
import { Change, type CommitResult, maxPageBytes, type StorePage } from "@tollgate/store"
import { Effect } from "effect"
import { cases, getVersions, put, type StoreFixture } from "./ContractCase.ts"

const keys = (count: number) => Array.from({ length: count }, (_, index) => `r${index}`)

/** Reads all pages from the first on, and runs a program after each. Returns the keys of each page. */
const readPages = function* (
  { getPage }: StoreFixture,
  terms: ReadonlyArray<string>,
  options: { readonly limit: number; readonly descending?: boolean },
  afterPage: (keys: ReadonlyArray<string>) => Effect.Effect<unknown, unknown> = () => Effect.void
) {
  const pages: Array<ReadonlyArray<string>> = []
  for (let after: number | undefined, isLast = false; !isLast; ) {
    const { records, next } = (yield* getPage(terms, { ...options, after })) as StorePage
    const keys = records.map(({ key }) => key)
    pages.push(keys)
    yield* afterPage(keys)
    after = next
    isLast = next === undefined
  }
  return pages
}

/** Each list of the records of `commitPages`: its terms and its keys, oldest first. */
const pagedKeys = keys(25)
const pagedLists = [
  [["t"], pagedKeys],
  [["t", "u"], pagedKeys.filter((_, index) => index % 5 !== 0)]
] as const
const pagedRecords = pagedKeys.map((key, index) => put(key, { indexTerms: index % 5 === 0 ? ["t"] : ["t", "u"] }))

export const listing = cases("listing", {
  *"next leads from page to page, and only the last page has none"(fixture) {
    yield* fixture.commit(pagedRecords)
    for (const [terms, oldestFirst] of pagedLists) {
      for (const descending of [false, true]) {
        const expected = descending ? oldestFirst.toReversed() : oldestFirst
        for (const limit of [1, 7, expected.length - 1, expected.length, 1_000]) {
          const pages = yield* readPages(fixture, terms, { limit, descending })
          deepEqual(pages.flat(), expected)
          equal(pages.length, Math.ceil(expected.length / limit))
        }
      }
    }
  },

  *"a page of large records has fewer than its limit, and next leads on"(fixture) {
    const large = keys(6)
    const body = "x".repeat(maxPageBytes / 4)
    yield* fixture.commit(large.map((key) => put(key, { indexTerms: ["t", "u"], body })))
    for (const terms of [["t"], ["t", "u"]]) {
      for (const descending of [false, true]) {
        const expected = descending ? large.toReversed() : large
        const pages = yield* readPages(fixture, terms, { limit: 1_000, descending })
        deepEqual(pages, [expected.slice(0, 4), expected.slice(4)])
        const page = { descending, limit: 1_000 }
        deepEqual(yield* fixture.list(terms, page), { keys: expected.slice(0, 4), total: 6 })
        deepEqual(yield* fixture.list(terms, { ...page, offset: 1 }), { keys: expected.slice(1, 5), total: 6 })
        deepEqual(yield* fixture.list(terms, { ...page, limit: 2 }), { keys: expected.slice(0, 2), total: 6 })
      }
    }
  },

  *"a list of many records by many terms is complete, on every page"(fixture) {
    const common = Array.from({ length: 48 }, (_, index) => `common-${index}`)
    const terms = [...common, "even", "no-third"]
    const all = keys(1_000)
    const getTerms = (index: number) => [
      ...common,
      ...(index % 2 === 0 ? ["even"] : []),
      ...(index % 3 > 0 ? ["no-third"] : [])
    ]
    for (let first = 0; first < all.length; first += 100) {
      const part = all.slice(first, first + 100)
      yield* fixture.commit(part.map((key, index) => put(key, { indexTerms: getTerms(first + index) })))
    }
    const oldestFirst = all.filter((_, index) => index % 2 === 0 && index % 3 > 0)
    for (const descending of [false, true]) {
      const expected = descending ? oldestFirst.toReversed() : oldestFirst
      const total = expected.length
      for (const offset of [0, 1, 266, 267, 300, total]) {
        for (const limit of [0, 1, 1_000]) {
          const page = { keys: expected.slice(offset, offset + limit), total }
          deepEqual(yield* fixture.list(terms, { offset, limit, descending }), page, `${offset}, ${limit}`)
        }
      }
      const pages = yield* readPages(fixture, terms, { limit: 150, descending })
      deepEqual(pages, [expected.slice(0, 150), expected.slice(150, 300), expected.slice(300)])
      const { next: after } = (yield* fixture.getPage(terms, { descending, limit: 10 })) as StorePage
      const later = { keys: expected.slice(290, 310), total }
      deepEqual(yield* fixture.list(terms, { after, offset: 280, limit: 20, descending }), later)
      yield* fixture.commit([put(`one-more-${descending}`, { indexTerms: [] })])
    }
  },

  *"a page after another has the overall total, and its offset counts from there"({ commit, getPage, list }) {
    yield* commit(pagedRecords)
    for (const [terms, oldestFirst] of pagedLists) {
      for (const descending of [false, true]) {
        const expected = descending ? oldestFirst.toReversed() : oldestFirst
        const total = expected.length
        const { next: after } = (yield* getPage(terms, { descending, limit: 4 })) as StorePage
        ok(after)
        const page = { descending, after }
        deepEqual(yield* list(terms, page), { keys: expected.slice(4), total })
        deepEqual(yield* list(terms, { ...page, offset: 3, limit: 2 }), { keys: expected.slice(7, 9), total })
        deepEqual(yield* list(terms, { ...page, offset: total - 4 }), { keys: [], total })
        deepEqual(yield* getPage(terms, { ...page, limit: 0 }), { records: [], total })
        deepEqual(yield* list([...terms, "none"], page), { keys: [], total: 0 })
      }
    }
  },

  *"records that are removed, updated or created while paging neither hide nor repeat others"(fixture) {
    const { commit, get } = fixture
    for (const [name, terms] of [
      ["one", ["one"]],
      ["two", ["two", "both"]]
    ] as const) {
      for (const descending of [false, true]) {
        const prefix = `${name} ${descending}`
        const all = keys(20).map((key) => `${prefix} ${key}`)
        const list = terms.map((term) => `${prefix} ${term}`)
        yield* commit(all.map((key) => put(key, { indexTerms: list })))
        let created = 0
        const pages = yield* readPages(fixture, list, { limit: 3, descending }, (page) =>
          Effect.gen(function* () {
            for (const key of page) {
              const { version: expect = 0 } = (yield* get(key)) ?? {}
              // The last record of the page among them, at whose place the next one begins.
              yield* commit([
                key.endsWith("4") ? put(key, { expect, indexTerms: list, body: "new" }) : Change.Delete({ key, expect })
              ])
            }
            if (created < 4) yield* commit([put(`${prefix} new ${created++}`, { indexTerms: list })])
          })
        )
        const news = Array.from({ length: 4 }, (_, index) => `${prefix} new ${index}`)
        deepEqual(pages.flat(), descending ? all.toReversed() : [...all, ...news])
      }
    }
  },

  *"a record that takes the place of a removed one comes after it"({ commit, getPage, list }) {
    const { versions } = (yield* commit(keys(3).map((key) => put(key, { indexTerms: ["t"] })))) as CommitResult
    const { next: after } = (yield* getPage(["t"], { limit: 2 })) as StorePage
    yield* commit([1, 2].map((index) => Change.Delete({ key: `r${index}`, expect: versions.get(`r${index}`) ?? 0 })))
    yield* commit([put("r1", { indexTerms: ["t"] })])
    deepEqual(yield* list(["t"], { after }), { keys: ["r1"], total: 2 })
  },

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
