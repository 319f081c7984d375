import { deepEqual, equal } from "node:assert/strict"
import { Change, StoreEntry } from "@tollgate/store"
import { cases, getVersions, put } from "./ContractCase.ts"
import { toKeys } from "./entries.ts"

const keys = (count: number, prefix = "r") => Array.from({ length: count }, (_, index) => `${prefix}${index}`)

export const scale = cases("scale", {
  *"a commit of ten thousand changes is applied completely"({ commit, getConflict, list, get, findOwner }) {
    const all = keys(10_000)
    const versions = getVersions(
      yield* commit([
        put("parent"),
        ...all.map((key) => put(key, { indexTerms: ["t", "open"], uniqueKeys: [`c-${key}`], parent: "parent" }))
      ])
    )
    deepEqual(yield* list(["t"], { offset: 9_998 }), { keys: all.slice(-2), total: 10_000 })
    const closed = all.map((key, index) =>
      put(key, { expect: versions[index + 1] ?? 0, indexTerms: ["t"], uniqueKeys: [`c-${key}`], parent: "parent" })
    )
    deepEqual(yield* getConflict([...closed, put("parent")]), { reason: "stale", name: "parent" })
    equal((yield* list(["open"], { limit: 0 })).total, 10_000)

    const updated = getVersions(yield* commit(closed))
    equal((yield* list(["open"], { limit: 0 })).total, 0)
    yield* commit([
      Change.AtMost({ term: "t", atMost: 10_000 }),
      ...all.map((key, index) => Change.Delete({ key, expect: updated[index] ?? 0 })),
      Change.Delete({ key: "parent", expect: versions[0] ?? 0 })
    ])
    equal((yield* list(["t"])).total, 0)
    equal(yield* get("r5000"), undefined)
    equal(yield* findOwner("c-r5000"), undefined)
  },

  *"one call runs a thousand queries"({ commit, store, partition }) {
    const owners = keys(1_000, "o")
    yield* commit(
      owners.flatMap((owner) => [
        put(`${owner}/1`, { indexTerms: [`of:${owner}`] }),
        put(`${owner}/2`, { indexTerms: [`of:${owner}`] })
      ])
    )
    const pages = yield* store.list(
      partition,
      owners.map((owner) => ({ indexTerms: [`of:${owner}`], offset: 0, limit: 1_000 }))
    )
    deepEqual(
      pages.map(({ records, total }) => [...records.map(({ key }) => key), total]),
      owners.map((owner) => [`${owner}/1`, `${owner}/2`, 2])
    )
  },

  *"one call reads ten thousand keys, unique keys or counters"({ commit, store, partition }) {
    const all = keys(10_000)
    yield* commit(all.map((key) => put(key, { uniqueKeys: [key], indexTerms: ["t"] })))
    equal((yield* store.get(partition, all)).filter((record) => record !== undefined).length, 10_000)
    equal((yield* store.getByUniqueKey(partition, all)).filter((record) => record !== undefined).length, 10_000)
    equal((yield* store.counters(partition, all)).length, 10_000)
    const [page] = yield* store.list(partition, [{ indexTerms: ["t"], offset: 0, limit: 10_000 }])
    deepEqual(
      page?.records.map(({ key }) => key),
      all
    )
    yield* store.clear(partition)
    equal((yield* store.get(partition, all)).filter((record) => record !== undefined).length, 0)
    equal((yield* store.getByUniqueKey(partition, all)).filter((record) => record !== undefined).length, 0)
  },

  *"every page of a large list or intersection is correct, dense or sparse"({ commit, list }) {
    const all = keys(2_500)
    const classes: Record<string, (index: number) => boolean> = {
      all: () => true,
      most: (index) => index % 10 !== 0,
      early: (index) => index < 1_300,
      late: (index) => index >= 1_280,
      few: (index) => index % 250 === 0
    }
    const hasTerm = (term: string, index: number) => classes[term]?.(index) === true
    yield* commit(
      all.map((key, index) => put(key, { indexTerms: Object.keys(classes).filter((term) => hasTerm(term, index)) }))
    )
    for (const terms of [
      ["all", "most"],
      ["early", "late"],
      ["few", "all"],
      ["most", "late", "all"],
      ["few", "most"],
      ["late"]
    ]) {
      const expected = all.filter((_, index) => terms.every((term) => hasTerm(term, index)))
      for (const offset of [
        0,
        1,
        7,
        19,
        900,
        1_000,
        1_120,
        expected.length - 10,
        expected.length - 1,
        expected.length
      ]) {
        if (offset < 0) continue
        deepEqual(yield* list(terms, { offset, limit: 10 }), {
          keys: expected.slice(offset, offset + 10),
          total: expected.length
        })
        deepEqual(yield* list(terms, { offset, limit: 10, descending: true }), {
          keys: expected.toReversed().slice(offset, offset + 10),
          total: expected.length
        })
      }
      deepEqual((yield* list(terms, { limit: 5_000 })).keys, expected)
      deepEqual((yield* list(terms, { limit: 5_000, descending: true })).keys, expected.toReversed())
    }
  },

  *"the total of several terms is exact after each write"({ commit, list, store, contents, partition }) {
    const all = keys(1_200)
    const { versions } = yield* commit([
      ...all.map((key) => put(key, { indexTerms: ["t", "u"] })),
      put("x", { indexTerms: ["t"] }),
      put("y", { indexTerms: ["u"] })
    ])
    const expect = (key: string) => versions.get(key) ?? 0
    const check = function* (expected: ReadonlyArray<string>) {
      const total = expected.length
      for (const offset of [0, 500, total - 3, total - 3, total, 1_201]) {
        deepEqual(yield* list(["t", "u"], { offset, limit: 3 }), { keys: expected.slice(offset, offset + 3), total })
      }
      const newest = { keys: expected.toReversed().slice(0, 3), total }
      deepEqual(yield* list(["u", "t"], { limit: 3, descending: true }), newest)
    }
    yield* check(all)
    // Each term has as many records as before.
    yield* commit([put("x", { expect: expect("x"), indexTerms: ["t", "u"] }), put("y", { expect: expect("y") })])
    yield* check([...all, "x"])
    yield* commit([Change.Delete({ key: "r0", expect: expect("r0") })])
    yield* check([...all.slice(1), "x"])
    yield* commit([Change.Delete({ key: "r1", expect: expect("r1") }), put("z", { indexTerms: ["t"] })])
    yield* check([...all.slice(2), "x"])
    yield* store.clear(partition)
    deepEqual(yield* list(["t", "u"]), { keys: [], total: 0 })
    const recreated = yield* commit(all.map((key) => put(key, { indexTerms: ["t", "u"] })))
    yield* check(all)
    // Neither deletes nor written records advance the sequence number, and each term has as many records as before.
    const deleted = all.slice(1)
    yield* commit(deleted.map((key) => Change.Delete({ key, expect: recreated.versions.get(key) ?? 0 })))
    const written = [["x", ["t"]], ["y", ["u"]], ...deleted.slice(1).map((key) => [key, ["t", "u"]] as const)] as const
    yield* contents.write(
      partition,
      written.map(([key, indexTerms], index) =>
        StoreEntry.Record({ record: { key, version: index + 1, body: "", indexTerms, uniqueKeys: [] } })
      )
    )
    for (const term of ["t", "u"]) equal((yield* list([term], { limit: 0 })).total, 1_200)
    equal((yield* list(["t", "u"], { limit: 0 })).total, 1_199)
  },

  *"ten thousand records are read in the order of creation, each once"({ commit, copy, readEntries }) {
    const shuffled = Array.from({ length: 10_000 }, (_, index) => `r${(index * 7_919) % 10_000}`)
    const versions = getVersions(
      yield* commit(shuffled.map((key) => put(key, { indexTerms: ["t"], uniqueKeys: [key] })))
    )
    yield* commit(
      shuffled.flatMap((key, index) =>
        index % 3 === 0 ? [put(key, { expect: versions[index] ?? 0, indexTerms: ["t"], uniqueKeys: [key] })] : []
      )
    )
    const read = toKeys(yield* readEntries)
    // The difference of two long lists takes seconds to print.
    equal(
      shuffled.findIndex((key, index) => read[index] !== key),
      -1,
      "the records are read in another order"
    )
    equal(read.length, shuffled.length)
    const copied = yield* copy
    deepEqual(yield* copied.readEntries, yield* readEntries)
    deepEqual(yield* copied.list(["t"], { offset: 9_998 }), { keys: shuffled.slice(-2), total: 10_000 })
    equal(yield* copied.findOwner("r5000"), "r5000")
  },

  *"a body of one mebibyte is stored exactly"({ commit, get }) {
    const body = `${"🗝é\n".repeat(150_000)}end`
    yield* commit([put("a", { body })])
    equal((yield* get("a"))?.body, body)
  },

  *"a record may have a hundred terms and unique keys"({ commit, list, findOwner }) {
    const names = keys(100, "n")
    yield* commit([put("a", { indexTerms: names, uniqueKeys: names })])
    deepEqual(yield* list(names), { keys: ["a"], total: 1 })
    equal(yield* findOwner("n99"), "a")
  }
})
