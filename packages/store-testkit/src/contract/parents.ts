import { deepEqual, equal } from "node:assert/strict"
import { Change } from "@tollgate/store"
import { cases, getVersions, put } from "./ContractCase.ts"

export const parents = cases("parents", {
  *"a lookup by unique key returns the record and its parent"({ commit, get, store, partition }) {
    yield* commit([put("parent", { body: "the parent" }), put("child", { uniqueKeys: ["c"], parent: "parent" })])
    deepEqual(yield* store.getByUniqueKey(partition, ["c"]), [
      { record: yield* get("child"), parent: yield* get("parent") }
    ])
  },

  *"a lookup by unique key returns the current version of the parent"({ commit, store, partition }) {
    const [version = 0] = getVersions(
      yield* commit([put("parent"), put("child", { uniqueKeys: ["c"], parent: "parent" })])
    )
    yield* commit([put("parent", { expect: version, body: "changed" })])
    equal((yield* store.getByUniqueKey(partition, ["c"]))[0]?.parent?.body, "changed")
  },

  *"a lookup by unique key returns the new parent of a moved record"({ commit, store, partition }) {
    const [, , version = 0] = getVersions(
      yield* commit([put("p1"), put("p2"), put("child", { uniqueKeys: ["c"], parent: "p1" })])
    )
    yield* commit([put("child", { expect: version, uniqueKeys: ["c"], parent: "p2" })])
    equal((yield* store.getByUniqueKey(partition, ["c"]))[0]?.parent?.key, "p2")
  },

  *"a lookup by unique key omits a deleted parent"({ commit, store, partition }) {
    const [version = 0] = getVersions(
      yield* commit([put("parent"), put("child", { uniqueKeys: ["c"], parent: "parent" })])
    )
    yield* commit([Change.Delete({ key: "parent", expect: version })])
    const [child] = yield* store.getByUniqueKey(partition, ["c"])
    equal(child?.record.key, "child")
    equal(child?.parent, undefined)
  },

  *"a child that checks its parent does not change it"({ commit, get }) {
    const [version = 0] = getVersions(yield* commit([put("parent")]))
    yield* commit([Change.Check({ key: "parent", expect: version }), put("child", { parent: "parent" })])
    equal((yield* get("parent"))?.version, version)
  }
})
