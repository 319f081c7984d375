import { deepEqual, equal, notEqual, ok } from "node:assert/strict"
import { Change } from "@tollgate/core"
import { cases, emptyResult, inOrder, put } from "../ContractCase.ts"

/** Names that have tripped somebody's quoting, escaping or encoding. */
const awkward = [
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
  *"a record that was put is read back as it was"({ commit, get }) {
    const versions = inOrder(
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

  *"get answers in the order of the keys, with nothing for one that does not exist"({ commit, store, partition }) {
    yield* commit([put("a"), put("b")])
    const found = yield* store.get(partition, ["b", "none", "a", "b"])
    deepEqual(
      found.map((record) => record?.key),
      ["b", undefined, "a", "b"]
    )
  },

  *"an empty partition answers empty"({ store, partition, get, list, holder, counter }) {
    equal(yield* get("a"), undefined)
    equal(yield* holder("c"), undefined)
    equal(yield* counter("n"), 0)
    deepEqual(yield* list(["t"]), { keys: [], total: 0 })
    deepEqual(yield* store.get(partition, []), [])
    deepEqual(yield* store.getByUniqueKey(partition, []), [])
    deepEqual(yield* store.list(partition, []), [])
    deepEqual(yield* store.counters(partition, []), [])
    deepEqual(yield* store.commit(partition, []), emptyResult())
  },

  *"a create is refused where the record exists"({ commit, get, refusal }) {
    yield* commit([put("a", { body: "first" })])
    deepEqual(yield* refusal([put("a", { body: "second" })]), { reason: "stale", name: "a" })
    equal((yield* get("a"))?.body, "first")
  },

  *"an update is refused unless it names the current version"({ commit, get, refusal }) {
    const first = inOrder(yield* commit([put("a", { body: "1" })]))[0] ?? 0
    const second = inOrder(yield* commit([put("a", { body: "2", expect: first })]))[0] ?? 0
    deepEqual(yield* refusal([put("a", { body: "lost", expect: first })]), { reason: "stale", name: "a" })
    equal((yield* get("a"))?.body, "2")
    yield* commit([put("a", { body: "3", expect: second })])
    equal((yield* get("a"))?.body, "3")
  },

  *"an update of a record that does not exist is refused"({ refusal }) {
    deepEqual(yield* refusal([put("a", { expect: 1 })]), { reason: "stale", name: "a" })
  },

  *"a delete is refused unless it names the current version"({ commit, get, refusal }) {
    const first = inOrder(yield* commit([put("a")]))[0] ?? 0
    const second = inOrder(yield* commit([put("a", { expect: first })]))[0] ?? 0
    deepEqual(yield* refusal([Change.Delete({ key: "a", expect: first })]), { reason: "stale", name: "a" })
    yield* commit([Change.Delete({ key: "a", expect: second })])
    equal(yield* get("a"), undefined)
    deepEqual(yield* refusal([Change.Delete({ key: "a", expect: second })]), { reason: "stale", name: "a" })
  },

  *"a check is refused unless the record is as expected, and changes nothing"({ commit, get, refusal }) {
    const version = inOrder(yield* commit([put("a")]))[0] ?? 0
    yield* commit([Change.Check({ key: "a", expect: version }), put("b")])
    yield* commit([Change.Check({ key: "none", expect: 0 }), put("c")])
    equal((yield* get("a"))?.version, version)
    deepEqual(yield* refusal([Change.Check({ key: "a", expect: 0 })]), { reason: "stale", name: "a" })
    deepEqual(yield* refusal([Change.Check({ key: "none", expect: version })]), { reason: "stale", name: "none" })
  },

  *"versions rise with every write, and one is never used again"({ commit, get, store, partition }) {
    const seen: Array<number> = []
    seen.push(...inOrder(yield* commit([put("a"), put("b")])))
    seen.push(...inOrder(yield* commit([put("a", { expect: seen[0] ?? 0 })])))
    yield* commit([Change.Delete({ key: "a", expect: seen[2] ?? 0 })])
    seen.push(...inOrder(yield* commit([put("a")])))
    yield* store.clear(partition)
    seen.push(...inOrder(yield* commit([put("a")])))
    equal(seen.length, 5)
    deepEqual(
      seen,
      [...new Set(seen)].sort((left, right) => left - right)
    )
    equal((yield* get("a"))?.version, seen[4])
  },

  *"a record deleted and made again is another record"({ commit, refusal }) {
    const first = inOrder(yield* commit([put("a")]))[0] ?? 0
    yield* commit([Change.Delete({ key: "a", expect: first })])
    const second = inOrder(yield* commit([put("a")]))[0] ?? 0
    notEqual(first, second)
    deepEqual(yield* refusal([put("a", { expect: first })]), { reason: "stale", name: "a" })
  },

  *"an update replaces body, terms, claims and parent whole"({ commit, get, list, holder }) {
    const version = inOrder(
      yield* commit([put("a", { indexTerms: ["old", "both"], uniqueKeys: ["c-old"], parent: "p" })])
    )[0]
    const versions = inOrder(
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
    equal(yield* holder("c-old"), undefined)
    equal(yield* holder("c-new"), "a")
  },

  *"what is handed in or out is a copy"({ commit, get, list }) {
    const terms = ["t"]
    const claims = ["c"]
    yield* commit([put("a", { indexTerms: terms, uniqueKeys: claims })])
    terms.push("sneaked in")
    claims.push("sneaked in")
    const handedOut = (yield* get("a"))?.indexTerms as Array<string> | undefined
    try {
      handedOut?.push("sneaked in later")
    } catch {
      // frozen is as good as copied
    }
    deepEqual((yield* get("a"))?.indexTerms, ["t"])
    deepEqual((yield* get("a"))?.uniqueKeys, ["c"])
    deepEqual(yield* list(["t"]), { keys: ["a"], total: 1 })
  },

  *"any text can be a key, a term, a claim, a parent, a counter or a body"({ commit, store, partition, list, holder }) {
    for (const text of awkward) {
      const [version] = inOrder(
        yield* commit([
          put(text, { body: text, indexTerms: [`t${text}`], uniqueKeys: [`c${text}`], parent: text }),
          Change.Add({ counter: text, by: 7, ttl: 60_000 })
        ])
      )
      deepEqual(yield* store.get(partition, [text]), [
        { key: text, version, body: text, indexTerms: [`t${text}`], uniqueKeys: [`c${text}`], parent: text }
      ])
      deepEqual(yield* list([`t${text}`]), { keys: [text], total: 1 })
      equal(yield* holder(`c${text}`), text)
      deepEqual(yield* store.counters(partition, [text]), [7])
    }
    equal((yield* store.get(partition, awkward)).filter((record) => record !== undefined).length, awkward.length)
  },

  *"bodies keep every digit and every character"({ commit, get }) {
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
