import { deepEqual, equal, notEqual, ok } from "node:assert/strict"
import { Change } from "@tollgate/store"
import { cases, emptyResult, getVersions, put } from "./ContractCase.ts"

/** Strings that break wrong quoting, escaping or encoding. */
const unusualStrings = [
  "",
  " ",
  "a b",
  "a/b",
  "a:b",
  "{a}",
  "}{",
  "%2F",
  "*",
  "?[a]",
  "'; DROP TABLE records; --",
  '"\\"',
  "line\nbreak\r\n",
  "nul\u0000byte",
  "ünï©ødé",
  "🗝️",
  "e\u0301",
  "é",
  "__proto__",
  "constructor",
  "undefined",
  "1e21",
  "x".repeat(500)
]

export const records = cases("records", {
  *"a record is read back as it was put"({ commit, get }) {
    const versions = getVersions(
      yield* commit([put("a", { body: '{"n":1}', indexTerms: ["t1", "t2"], uniqueKeys: ["c1"], parent: "p" })])
    )
    deepEqual(yield* get("a"), {
      key: "a",
      version: versions[0],
      body: '{"n":1}',
      indexTerms: ["t1", "t2"],
      uniqueKeys: ["c1"],
      parent: "p"
    })
  },

  *"a record without a parent has no parent property"({ commit, get }) {
    yield* commit([put("a")])
    ok(!("parent" in ((yield* get("a")) ?? {})))
  },

  *"get returns records in the order of the keys, and undefined for a missing one"({ commit, store, partition }) {
    yield* commit([put("a"), put("b")])
    const records = yield* store.get(partition, ["b", "none", "a", "b"])
    deepEqual(
      records.map((record) => record?.key),
      ["b", undefined, "a", "b"]
    )
  },

  *"an empty partition returns empty results"({ store, partition, get, list, findOwner, counter }) {
    equal(yield* get("a"), undefined)
    equal(yield* findOwner("c"), undefined)
    equal(yield* counter("n"), 0)
    deepEqual(yield* list(["t"]), { keys: [], total: 0 })
    deepEqual(yield* store.get(partition, []), [])
    deepEqual(yield* store.getByUniqueKey(partition, []), [])
    deepEqual(yield* store.list(partition, []), [])
    deepEqual(yield* store.counters(partition, []), [])
    deepEqual(yield* store.commit(partition, []), emptyResult())
  },

  *"a create conflicts with an existing record"({ commit, get, getConflict }) {
    yield* commit([put("a", { body: "first" })])
    deepEqual(yield* getConflict([put("a", { body: "second" })]), { reason: "stale", name: "a" })
    equal((yield* get("a"))?.body, "first")
  },

  *"an update conflicts unless it expects the current version"({ commit, get, getConflict }) {
    const first = getVersions(yield* commit([put("a", { body: "1" })]))[0] ?? 0
    const second = getVersions(yield* commit([put("a", { body: "2", expect: first })]))[0] ?? 0
    deepEqual(yield* getConflict([put("a", { body: "lost", expect: first })]), { reason: "stale", name: "a" })
    equal((yield* get("a"))?.body, "2")
    yield* commit([put("a", { body: "3", expect: second })])
    equal((yield* get("a"))?.body, "3")
  },

  *"an update of a missing record conflicts"({ getConflict }) {
    deepEqual(yield* getConflict([put("a", { expect: 1 })]), { reason: "stale", name: "a" })
  },

  *"a delete conflicts unless it expects the current version"({ commit, get, getConflict }) {
    const first = getVersions(yield* commit([put("a")]))[0] ?? 0
    const second = getVersions(yield* commit([put("a", { expect: first })]))[0] ?? 0
    deepEqual(yield* getConflict([Change.Delete({ key: "a", expect: first })]), { reason: "stale", name: "a" })
    yield* commit([Change.Delete({ key: "a", expect: second })])
    equal(yield* get("a"), undefined)
    deepEqual(yield* getConflict([Change.Delete({ key: "a", expect: second })]), { reason: "stale", name: "a" })
  },

  *"a check conflicts unless the record has the expected version, and changes nothing"({ commit, get, getConflict }) {
    const version = getVersions(yield* commit([put("a")]))[0] ?? 0
    yield* commit([Change.Check({ key: "a", expect: version }), put("b")])
    yield* commit([Change.Check({ key: "none", expect: 0 }), put("c")])
    equal((yield* get("a"))?.version, version)
    deepEqual(yield* getConflict([Change.Check({ key: "a", expect: 0 })]), { reason: "stale", name: "a" })
    deepEqual(yield* getConflict([Change.Check({ key: "none", expect: version })]), { reason: "stale", name: "none" })
  },

  *"versions increase with every write and are never reused"({ commit, get, store, partition }) {
    const versions: Array<number> = []
    versions.push(...getVersions(yield* commit([put("a"), put("b")])))
    versions.push(...getVersions(yield* commit([put("a", { expect: versions[0] ?? 0 })])))
    yield* commit([Change.Delete({ key: "a", expect: versions[2] ?? 0 })])
    versions.push(...getVersions(yield* commit([put("a")])))
    yield* store.clear(partition)
    versions.push(...getVersions(yield* commit([put("a")])))
    equal(versions.length, 5)
    deepEqual(
      versions,
      [...new Set(versions)].sort((left, right) => left - right)
    )
    equal((yield* get("a"))?.version, versions[4])
  },

  *"a deleted and recreated record has a new version"({ commit, getConflict }) {
    const first = getVersions(yield* commit([put("a")]))[0] ?? 0
    yield* commit([Change.Delete({ key: "a", expect: first })])
    const second = getVersions(yield* commit([put("a")]))[0] ?? 0
    notEqual(first, second)
    deepEqual(yield* getConflict([put("a", { expect: first })]), { reason: "stale", name: "a" })
  },

  *"an update replaces body, index terms, unique keys and parent"({ commit, get, list, findOwner }) {
    const version = getVersions(
      yield* commit([put("a", { indexTerms: ["old", "both"], uniqueKeys: ["c-old"], parent: "p" })])
    )[0]
    const versions = getVersions(
      yield* commit([
        put("a", { expect: version ?? 0, body: "new", indexTerms: ["both", "new"], uniqueKeys: ["c-new"] })
      ])
    )
    deepEqual(yield* get("a"), {
      key: "a",
      version: versions[0],
      body: "new",
      indexTerms: ["both", "new"],
      uniqueKeys: ["c-new"]
    })
    deepEqual(yield* list(["old"]), { keys: [], total: 0 })
    deepEqual(yield* list(["both"]), { keys: ["a"], total: 1 })
    deepEqual(yield* list(["new"]), { keys: ["a"], total: 1 })
    equal(yield* findOwner("c-old"), undefined)
    equal(yield* findOwner("c-new"), "a")
  },

  *"the store copies its inputs and its results"({ commit, get, list }) {
    const terms = ["t"]
    const uniqueKeys = ["c"]
    yield* commit([put("a", { indexTerms: terms, uniqueKeys })])
    terms.push("added afterwards")
    uniqueKeys.push("added afterwards")
    const returnedTerms = (yield* get("a"))?.indexTerms as Array<string> | undefined
    try {
      returnedTerms?.push("added to the result")
    } catch {
      // A frozen array is as good as a copy.
    }
    deepEqual((yield* get("a"))?.indexTerms, ["t"])
    deepEqual((yield* get("a"))?.uniqueKeys, ["c"])
    deepEqual(yield* list(["t"]), { keys: ["a"], total: 1 })
  },

  *"any string can be a key, a term, a unique key, a parent, a counter or a body"({
    commit,
    store,
    partition,
    list,
    findOwner
  }) {
    for (const value of unusualStrings) {
      const [version] = getVersions(
        yield* commit([
          put(value, { body: value, indexTerms: [`t${value}`], uniqueKeys: [`c${value}`], parent: value }),
          Change.Add({ counter: value, by: 7, ttl: 60_000 })
        ])
      )
      deepEqual(yield* store.get(partition, [value]), [
        { key: value, version, body: value, indexTerms: [`t${value}`], uniqueKeys: [`c${value}`], parent: value }
      ])
      deepEqual(yield* list([`t${value}`]), { keys: [value], total: 1 })
      equal(yield* findOwner(`c${value}`), value)
      deepEqual(yield* store.counters(partition, [value]), [7])
    }
    equal(
      (yield* store.get(partition, unusualStrings)).filter((record) => record !== undefined).length,
      unusualStrings.length
    )
  },

  *"bodies are stored exactly"({ commit, get }) {
    const body = JSON.stringify({
      big: 12345678901234567890n.toString(),
      n: 1e21,
      tiny: 5e-324,
      quote: '"',
      s: "\u2028\u0000🗝"
    })
    yield* commit([put("a", { body })])
    equal((yield* get("a"))?.body, body)
    yield* commit([put("empty", { body: "" })])
    equal((yield* get("empty"))?.body, "")
  }
})
