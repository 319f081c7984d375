import { deepEqual, equal, ok } from "node:assert/strict"
import { Change, type Partition, type SearchMatch, StoreEntry } from "@tollgate/store"
import { Effect, Exit } from "effect"
import { cases, getVersions, put } from "./ContractCase.ts"

const toKeys = (matches: ReadonlyArray<SearchMatch>) => matches.map(({ key }) => key)
const toTerms = (matches: ReadonlyArray<SearchMatch>) => matches.map(({ term }) => term)

/** In the order of their code points. In that of their UTF-16 code units, the key and the hammer come before U+FF5A. */
const ordered = [
  "n",
  "n\u0001",
  "n ",
  "n%",
  "n*",
  "n-1",
  "nA",
  "n[a]",
  "n\\",
  "n_",
  "na",
  "n\u007f",
  "n\u00e9",
  "n\u07ff",
  "n\ud7ff",
  "n\ue000",
  "n\uff5a",
  "n\uffff",
  "n\u{1f528}",
  "n\u{1f5dd}",
  "n\u{10ffff}",
  "n\u{10ffff}z",
  "o"
]

export const searching = cases("searching", {
  *"a search finds the terms that begin with its prefix, with their records"({ commit, search }) {
    yield* commit([
      put("parent", { searchTerms: ["acme", "acme-api"] }),
      put("child", { searchTerms: ["acme-web", "other"], parent: "parent" }),
      put("orphan", { searchTerms: ["ac"], parent: "missing" }),
      put("without", { indexTerms: ["acme"], uniqueKeys: ["acme"] })
    ])
    const found = yield* search("acm")
    deepEqual(
      found.map(({ place: _, ...match }) => match),
      [
        { term: "acme", key: "parent" },
        { term: "acme-api", key: "parent" },
        { term: "acme-web", key: "child", parent: "parent" }
      ]
    )
    deepEqual(
      (yield* search("ac", { limit: 1 })).map(({ place: _, ...match }) => match),
      [{ term: "ac", key: "orphan", parent: "missing" }]
    )
    deepEqual(toKeys(yield* search("o")), ["child"])
    deepEqual(yield* search("acme-x"), [])
    deepEqual(yield* search("Acme"), [])
  },

  *"terms are in the order of their code points, and prefixes have no wildcards"({ commit, search }) {
    const shuffled = ordered.map((_, index) => ordered[(index * 7) % ordered.length] ?? "")
    yield* commit(shuffled.map((term) => put(`of ${term}`, { searchTerms: [term] })))
    deepEqual(toTerms(yield* search("n")), ordered.slice(0, -1))
    deepEqual(toTerms(yield* search("")), ordered)
    for (const prefix of ordered) {
      deepEqual(
        toTerms(yield* search(prefix)),
        ordered.filter((term) => term.startsWith(prefix)),
        JSON.stringify(prefix)
      )
      const rest = { after: prefix, limit: 4 }
      deepEqual(toTerms(yield* search("", rest)), ordered.slice(ordered.indexOf(prefix) + 1).slice(0, 4))
    }
    for (const prefix of ["%", "_", "*", "?", "n?", "n%a", "\\", "[", "n[a-z]"]) deepEqual(yield* search(prefix), [])
  },

  *"records with the same term are found newest first"({ commit, search, list }) {
    const keys = ["c", "a", "d", "b"]
    const [first = 0] = getVersions(
      yield* commit(keys.map((key) => put(key, { indexTerms: ["t"], searchTerms: ["same"] })))
    )
    yield* commit([put("c", { expect: first, indexTerms: ["t"], searchTerms: ["same", "same-too"] })])
    const found = yield* search("same")
    deepEqual(toKeys(found), [...keys.toReversed(), "c"])
    deepEqual(toKeys(found.slice(0, 4)), (yield* list(["t"], { descending: true })).keys)
    for (const [index, { place }] of found.slice(1, 4).entries()) ok(place < (found[index]?.place ?? 0))
    equal(found[3]?.place, found[4]?.place)
    deepEqual(toKeys(yield* search("same", { limit: 2 })), ["b", "d"])
    deepEqual(toKeys(yield* search("same", { after: "same" })), ["c"])
  },

  *"a place is that of lists"({ commit, search, getPage }) {
    yield* commit(["a", "b", "c"].map((key) => put(key, { indexTerms: ["t"], searchTerms: [key] })))
    const [match] = yield* search("b")
    deepEqual(
      (yield* getPage(["t"], { after: match?.place })).records.map(({ key }) => key),
      ["c"]
    )
  },

  *"a replaced record has only its new terms, and a deleted one none"({ commit, search, get }) {
    yield* commit([
      put("a", { searchTerms: ["old", "kept"] }),
      put("b", { searchTerms: ["old"] }),
      put("c", { searchTerms: ["old"] })
    ])
    const [version = 0] = getVersions(yield* commit([put("a", { expect: 1, searchTerms: ["kept", "new"] })]))
    deepEqual(toTerms(yield* search("")), ["kept", "new", "old", "old"])
    deepEqual((yield* get("a"))?.searchTerms, ["kept", "new"])
    yield* commit([Change.Delete({ key: "b", expect: 2 }), put("c", { expect: 3 })])
    deepEqual(toTerms(yield* search("")), ["kept", "new"])
    deepEqual(yield* get("c"), { key: "c", version: 5, body: "body of c", indexTerms: [], uniqueKeys: [] })
    yield* commit([put("a", { expect: version })])
    deepEqual(yield* search(""), [])
    ok(!("searchTerms" in ((yield* get("a")) ?? {})))
    yield* commit([put("b", { searchTerms: ["again"] })])
    deepEqual(toKeys(yield* search("again")), ["b"])
  },

  *"a match has the parent that its record has now"({ commit, search }) {
    const parents = Effect.map(search("term"), (matches) => matches.map(({ parent }) => parent))
    const [version = 0] = getVersions(yield* commit([put("a", { searchTerms: ["term", "terms"], parent: "p" })]))
    deepEqual(yield* parents, ["p", "p"])
    const moved = put("a", { expect: version, searchTerms: ["term", "terms"], parent: "q:1" })
    const [next = 0] = getVersions(yield* commit([moved]))
    deepEqual(yield* parents, ["q:1", "q:1"])
    yield* commit([put("a", { expect: next, searchTerms: ["term"] })])
    deepEqual(yield* parents, [undefined])
  },

  *"a refused commit changes no terms"({ commit, search, getConflict }) {
    yield* commit([put("a", { searchTerms: ["a"] })])
    yield* getConflict([put("b", { searchTerms: ["b"] }), put("a", { expect: 7, searchTerms: ["c"] })])
    yield* getConflict([Change.Delete({ key: "a", expect: 7 })])
    deepEqual(toTerms(yield* search("")), ["a"])
  },

  *"queries of one call are independent, and see only their partition"({ commit, store, partition }) {
    const neighbour = `${partition}0` as Partition.Partition
    yield* store.commit(neighbour, [put("neighbour", { searchTerms: ["a", "b"] })])
    yield* commit([put("x", { searchTerms: ["a", "ab"] }), put("y", { searchTerms: ["b"] })])
    const found = yield* store.search(partition, [
      { prefix: "b", limit: 10 },
      { prefix: "none", limit: 10 },
      { prefix: "a", limit: 1 },
      { prefix: "a", limit: 0 },
      { prefix: "a", limit: 10, after: "a" }
    ])
    deepEqual(found.map(toTerms), [["b"], [], ["a"], [], ["ab"]])
    deepEqual(found.map(toKeys), [["y"], [], ["x"], [], ["x"]])
    deepEqual(yield* store.search(`${partition}-none` as Partition.Partition, [{ prefix: "", limit: 1 }]), [[]])
    yield* store.clear(neighbour)
    deepEqual(yield* store.search(neighbour, [{ prefix: "", limit: 10 }]), [[]])
    deepEqual(toKeys((yield* store.search(partition, [{ prefix: "", limit: 10 }]))[0] ?? []), ["x", "x", "y"])
  },

  *"a record may have 64 terms of 256 UTF-16 code units"({ commit, search, get, copy }) {
    const terms = Array.from({ length: 64 }, (_, index) => "\u{1f5dd}".repeat(127) + String(index).padStart(2, "0"))
    yield* commit([put("a", { searchTerms: terms })])
    deepEqual(toTerms(yield* search("\u{1f5dd}")), terms)
    deepEqual(toTerms(yield* search(terms[7] ?? "")), [terms[7]])
    deepEqual((yield* get("a"))?.searchTerms, terms)
    deepEqual(toTerms(yield* (yield* copy).search("\u{1f5dd}")), terms)
  },

  *"keys of any form are found, with their parents"({ commit, search }) {
    const keys = ["", "a:b", "a^b", "nul\u0000byte", "x".repeat(2_000), "\u0001", "\u{1f5dd}"]
    yield* commit(keys.map((key) => put(key, { searchTerms: ["term"], parent: key })))
    const found = yield* search("term")
    deepEqual(toKeys(found), keys.toReversed())
    deepEqual(
      found.map(({ parent }) => parent),
      keys.toReversed()
    )
  },

  *"a copy has the same terms, and its records can be changed"({ commit, copy, readEntries }) {
    const versions = getVersions(
      yield* commit([
        put("b", { searchTerms: ["t", "tu"], parent: "a" }),
        put("a", { searchTerms: ["t"] }),
        put("c", { searchTerms: ["u"] })
      ])
    )
    const copied = yield* copy
    deepEqual(yield* copied.readEntries, yield* readEntries)
    deepEqual(
      (yield* copied.search("t")).map(({ place: _, ...match }) => match),
      [
        { term: "t", key: "a" },
        { term: "t", key: "b", parent: "a" },
        { term: "tu", key: "b", parent: "a" }
      ]
    )
    yield* copied.commit([
      put("b", { expect: versions[0] ?? 0, searchTerms: ["new"] }),
      Change.Delete({ key: "a", expect: versions[1] ?? 0 })
    ])
    deepEqual(toTerms(yield* copied.search("")), ["new", "u"])
  },

  *"invalid search terms die and change nothing"({ commit, search, contents, partition, readEntries }) {
    const many = Array.from({ length: 65 }, (_, index) => `t${index}`)
    for (const searchTerms of [[], [""], ["a", "a"], ["nul\u0000"], ["half \ud800"], ["x".repeat(257)], many]) {
      ok(Exit.hasDies(yield* Effect.exit(commit([put("a", { searchTerms })]))), JSON.stringify(searchTerms))
      const record = { key: "a", version: 1, body: "", indexTerms: [], uniqueKeys: [], searchTerms }
      ok(Exit.hasDies(yield* Effect.exit(contents.write(partition, [StoreEntry.Record({ record })]))))
    }
    for (const prefix of ["nul\u0000", "half \udc00", "x".repeat(257)]) {
      ok(Exit.hasDies(yield* Effect.exit(search(prefix))), JSON.stringify(prefix))
    }
    for (const options of [{ limit: -1 }, { limit: 0.5 }, { after: "b" }, { after: "a\u0000" }]) {
      ok(Exit.hasDies(yield* Effect.exit(search("a", options))), JSON.stringify(options))
    }
    deepEqual(yield* readEntries, [])
  },

  *"many records with a common beginning are found completely, and page after page"({
    commit,
    search,
    store,
    partition
  }) {
    const keys = Array.from({ length: 3_000 }, (_, index) => `r${String(index).padStart(4, "0")}`)
    for (let first = 0; first < keys.length; first += 500) {
      yield* commit(
        keys
          .slice(first, first + 500)
          .map((key) => put(key, { searchTerms: [`name-${key}`, "all", `g${key.slice(-1)}`], parent: key }))
      )
    }
    deepEqual(toKeys(yield* search("name-", { limit: 5_000 })), keys)
    deepEqual(toKeys(yield* search("all", { limit: 100 })), keys.toReversed().slice(0, 100))
    const pages: Array<string> = []
    for (let after: string | undefined; pages.length < keys.length; ) {
      const page = yield* search("name-", { limit: 700, after })
      after = page.at(-1)?.term
      if (after === undefined) break
      pages.push(...toKeys(page))
    }
    deepEqual(pages, keys)
    yield* store.clear(partition)
    deepEqual(yield* search(""), [])
  }
})
