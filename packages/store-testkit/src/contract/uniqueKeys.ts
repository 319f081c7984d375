import { deepEqual, equal } from "node:assert/strict"
import { Change } from "@tollgate/store"
import { cases, getVersions, put } from "./ContractCase.ts"

export const uniqueKeys = cases("unique keys", {
  *"a lookup by unique key returns its record"({ commit, store, partition }) {
    yield* commit([put("a", { uniqueKeys: ["c1", "c2"] }), put("b", { uniqueKeys: ["c3"] })])
    const owners = yield* store.getByUniqueKey(partition, ["c3", "none", "c2", "c1"])
    deepEqual(
      owners.map((owner) => owner?.record.key),
      ["b", undefined, "a", "a"]
    )
    deepEqual(owners[0], { record: (yield* store.get(partition, ["b"]))[0] })
  },

  *"a unique key of another record conflicts"({ commit, get, findOwner, getConflict }) {
    yield* commit([put("a", { uniqueKeys: ["c"] })])
    deepEqual(yield* getConflict([put("b", { uniqueKeys: ["free", "c"] })]), { reason: "unique-key", name: "c" })
    equal(yield* get("b"), undefined)
    equal(yield* findOwner("free"), undefined)
    equal(yield* findOwner("c"), "a")
  },

  *"two records of one commit cannot have the same unique key"({ get, getConflict }) {
    deepEqual(yield* getConflict([put("a", { uniqueKeys: ["c"] }), put("b", { uniqueKeys: ["c"] })]), {
      reason: "unique-key",
      name: "c"
    })
    equal(yield* get("a"), undefined)
  },

  *"an updated record keeps its unique key"({ commit, findOwner }) {
    const version = getVersions(yield* commit([put("a", { uniqueKeys: ["c"] })]))[0] ?? 0
    yield* commit([put("a", { expect: version, body: "new", uniqueKeys: ["c", "d"] })])
    equal(yield* findOwner("c"), "a")
    equal(yield* findOwner("d"), "a")
  },

  *"an update frees the unique keys that it removes"({ commit, findOwner }) {
    const version = getVersions(yield* commit([put("a", { uniqueKeys: ["c"] })]))[0] ?? 0
    yield* commit([put("a", { expect: version })])
    equal(yield* findOwner("c"), undefined)
    yield* commit([put("b", { uniqueKeys: ["c"] })])
    equal(yield* findOwner("c"), "b")
  },

  *"a delete frees the unique keys of the record"({ commit, findOwner }) {
    const version = getVersions(yield* commit([put("a", { uniqueKeys: ["c"] })]))[0] ?? 0
    yield* commit([Change.Delete({ key: "a", expect: version })])
    equal(yield* findOwner("c"), undefined)
    yield* commit([put("b", { uniqueKeys: ["c"] })])
    equal(yield* findOwner("c"), "b")
  },

  *"one commit moves a unique key between records, in either order"({ commit, findOwner }) {
    const first = getVersions(yield* commit([put("a", { uniqueKeys: ["c"] })]))[0] ?? 0
    yield* commit([put("b", { uniqueKeys: ["c"] }), Change.Delete({ key: "a", expect: first })])
    equal(yield* findOwner("c"), "b")
    const [a = 0] = getVersions(yield* commit([put("a", { uniqueKeys: ["d"] })]))
    yield* commit([put("a", { expect: a }), put("z", { uniqueKeys: ["d"] })])
    equal(yield* findOwner("d"), "z")
  },

  *"two records swap their unique keys in one commit"({ commit, findOwner }) {
    const [a = 0, b = 0] = getVersions(
      yield* commit([put("a", { uniqueKeys: ["c"] }), put("b", { uniqueKeys: ["d"] })])
    )
    yield* commit([put("a", { expect: a, uniqueKeys: ["d"] }), put("b", { expect: b, uniqueKeys: ["c"] })])
    equal(yield* findOwner("c"), "b")
    equal(yield* findOwner("d"), "a")
  },

  *"a unique key is scoped to its partition"({ commit, store }) {
    const other = "keys/other/partition" as Parameters<typeof store.get>[0]
    yield* store.clear(other)
    yield* commit([put("a", { uniqueKeys: ["c"] })])
    yield* store.commit(other, [put("b", { uniqueKeys: ["c"] })])
    deepEqual((yield* store.getByUniqueKey(other, ["c"]))[0]?.record.key, "b")
    yield* store.clear(other)
  }
})
