/**
 * A store that a preview of 0.1 wrote is refused when Tollgate opens it, and stays as it is.
 */
import { assert, describe, it } from "@effect/vitest"
import { RecordUnreadable } from "@tollgate/core"
import { Tollgate } from "@tollgate/core/effect"
import { Change, Partition, Store } from "@tollgate/store"
import { StoreState } from "@tollgate/store-testkit"
import { Context, Effect, Layer } from "effect"
import { secret, stores } from "./stores.ts"

/** What every preview wrote when it opened a store: the id of its secret. */
const registeredSecret = Change.Put({
  key: "secret/0123456789abcdef",
  expect: 0,
  body: '1 {"id":"0123456789abcdef","firstUsedOn":"2026-01-01T00:00:00.000Z"}',
  indexTerms: ["secret"],
  uniqueKeys: []
})

describe.each(stores)("a store of a preview, on %s", (_, layer) => {
  it.effect("is refused when Tollgate opens it, and nothing is changed", () =>
    Effect.gen(function* () {
      const { store, state } = StoreState.watch(Context.get(yield* Layer.build(layer), Store))
      yield* store.commit(Partition.keysDirectory, [registeredSecret])
      const before = yield* state.snapshot
      const open = Tollgate.layer({ secret }).pipe(Layer.provide(Layer.succeed(Store, store)), Layer.build)
      const error = yield* Effect.flip(open)
      assert.instanceOf(error, RecordUnreadable)
      assert.include(error.message, "a preview of Tollgate 0.1 wrote it")
      assert.include(error.message, "Start with an empty store, or run that preview and copy over HTTP what you need")
      assert.deepStrictEqual(yield* state.snapshot, before)
    }).pipe(Effect.scoped)
  )
})
