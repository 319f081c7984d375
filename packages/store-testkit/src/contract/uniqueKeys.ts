import { deepEqual, equal } from "node:assert/strict"
import { Change } from "@tollgate/core"
import { cases, inOrder, put } from "../ContractCase.ts"

export const claims = cases("claims", {
  *"a claim finds the record that holds it"({ commit, store, partition }) {
    yield* commit([put("a", { uniqueKeys: ["c1", "c2"] }), put("b", { uniqueKeys: ["c3"] })])
    const found = yield* store.getByUniqueKey(partition, ["c3", "none", "c2", "c1"])
    deepEqual(
      found.map((claimed) => claimed?.record.key),
      ["b", undefined, "a", "a"]
    )
    deepEqual(found[0], { record: (yield* store.get(partition, ["b"]))[0] })
  },

  *"a claim that another record holds is refused"({ commit, get, holder, refusal }) {
    yield* commit([put("a", { uniqueKeys: ["c"] })])
    deepEqual(yield* refusal([put("b", { uniqueKeys: ["free", "c"] })]), { reason: "unique-key", name: "c" })
    equal(yield* get("b"), undefined)
    equal(yield* holder("free"), undefined)
    equal(yield* holder("c"), "a")
  },

  *"two records of one commit cannot hold the same claim"({ get, refusal }) {
    deepEqual(yield* refusal([put("a", { uniqueKeys: ["c"] }), put("b", { uniqueKeys: ["c"] })]), {
      reason: "unique-key",
      name: "c"
    })
    equal(yield* get("a"), undefined)
  },

  *"a record keeps its own claim when it is updated"({ commit, holder }) {
    const version = inOrder(yield* commit([put("a", { uniqueKeys: ["c"] })]))[0] ?? 0
    yield* commit([put("a", { expect: version, body: "new", uniqueKeys: ["c", "d"] })])
    equal(yield* holder("c"), "a")
    equal(yield* holder("d"), "a")
  },

  *"an update releases the claims it drops"({ commit, holder }) {
    const version = inOrder(yield* commit([put("a", { uniqueKeys: ["c"] })]))[0] ?? 0
    yield* commit([put("a", { expect: version })])
    equal(yield* holder("c"), undefined)
    yield* commit([put("b", { uniqueKeys: ["c"] })])
    equal(yield* holder("c"), "b")
  },

  *"a delete releases the claims of the record"({ commit, holder }) {
    const version = inOrder(yield* commit([put("a", { uniqueKeys: ["c"] })]))[0] ?? 0
    yield* commit([Change.Delete({ key: "a", expect: version })])
    equal(yield* holder("c"), undefined)
    yield* commit([put("b", { uniqueKeys: ["c"] })])
    equal(yield* holder("c"), "b")
  },

  *"one commit hands a claim from one record to another, in either order"({ commit, holder }) {
    const first = inOrder(yield* commit([put("a", { uniqueKeys: ["c"] })]))[0] ?? 0
    yield* commit([put("b", { uniqueKeys: ["c"] }), Change.Delete({ key: "a", expect: first })])
    equal(yield* holder("c"), "b")
    const [a = 0] = inOrder(yield* commit([put("a", { uniqueKeys: ["d"] })]))
    yield* commit([put("a", { expect: a }), put("z", { uniqueKeys: ["d"] })])
    equal(yield* holder("d"), "z")
  },

  *"two records swap their claims in one commit"({ commit, holder }) {
    const [a = 0, b = 0] = inOrder(yield* commit([put("a", { uniqueKeys: ["c"] }), put("b", { uniqueKeys: ["d"] })]))
    yield* commit([put("a", { expect: a, uniqueKeys: ["d"] }), put("b", { expect: b, uniqueKeys: ["c"] })])
    equal(yield* holder("c"), "b")
    equal(yield* holder("d"), "a")
  },

  *"a claim is unique in its partition alone"({ commit, store }) {
    const other = "keys/other/partition" as Parameters<typeof store.get>[0]
    yield* store.clear(other)
    yield* commit([put("a", { uniqueKeys: ["c"] })])
    yield* store.commit(other, [put("b", { uniqueKeys: ["c"] })])
    deepEqual((yield* store.getByUniqueKey(other, ["c"]))[0]?.record.key, "b")
    yield* store.clear(other)
  }
})
