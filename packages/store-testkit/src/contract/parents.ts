import { deepEqual, equal } from "node:assert/strict"
import { Change } from "@tollgate/core"
import { cases, inOrder, put } from "../ContractCase.ts"

export const parents = cases("parents", {
  *"a claim gives the record's parent with it"({ commit, get, store, partition }) {
    yield* commit([put("parent", { body: "the parent" }), put("child", { uniqueKeys: ["c"], parent: "parent" })])
    deepEqual(yield* store.getByUniqueKey(partition, ["c"]), [
      { record: yield* get("child"), parent: yield* get("parent") }
    ])
  },

  *"a claim gives the parent as it is now"({ commit, store, partition }) {
    const [version = 0] = inOrder(yield* commit([put("parent"), put("child", { uniqueKeys: ["c"], parent: "parent" })]))
    yield* commit([put("parent", { expect: version, body: "changed" })])
    equal((yield* store.getByUniqueKey(partition, ["c"]))[0]?.parent?.body, "changed")
  },

  *"a record that moved to another parent is found with that one"({ commit, store, partition }) {
    const [, , version = 0] = inOrder(
      yield* commit([put("p1"), put("p2"), put("child", { uniqueKeys: ["c"], parent: "p1" })])
    )
    yield* commit([put("child", { expect: version, uniqueKeys: ["c"], parent: "p2" })])
    equal((yield* store.getByUniqueKey(partition, ["c"]))[0]?.parent?.key, "p2")
  },

  *"a record whose parent is gone is found without one"({ commit, store, partition }) {
    const [version = 0] = inOrder(yield* commit([put("parent"), put("child", { uniqueKeys: ["c"], parent: "parent" })]))
    yield* commit([Change.Delete({ key: "parent", expect: version })])
    const [found] = yield* store.getByUniqueKey(partition, ["c"])
    equal(found?.record.key, "child")
    equal(found?.parent, undefined)
  },

  *"a child that checks its parent does not change it"({ commit, get }) {
    const [version = 0] = inOrder(yield* commit([put("parent")]))
    yield* commit([Change.Check({ key: "parent", expect: version }), put("child", { parent: "parent" })])
    equal((yield* get("parent"))?.version, version)
  }
})
