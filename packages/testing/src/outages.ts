/**
 * Kills the server of a store, and checks that calls fail fast and work again after its restart.
 */
import assert from "node:assert/strict"
import { Change, Partition, type StoreConflict, type StoreOperations, type StoreUnavailable } from "@tollgate/store"
import { Effect } from "effect"

const partition = Partition.forKeyBucket("acme", "production")
const put = (key: string) => Change.Put({ key, expect: 0, body: "body", indexTerms: ["t"], uniqueKeys: [] })

interface Server {
  readonly kill: Effect.Effect<void>
  readonly restart: Effect.Effect<void>
}

export const surviveOutage = Effect.fnUntraced(function* (store: StoreOperations, server: Server) {
  yield* store.commit(partition, [put("kept")])
  yield* server.kill
  const calls: ReadonlyArray<Effect.Effect<unknown, StoreUnavailable | StoreConflict>> = [
    store.get(partition, ["kept"]),
    store.commit(partition, [put("a")]),
    store.list(partition, [{ indexTerms: ["t"], offset: 0, limit: 1 }])
  ]
  for (const call of calls) {
    const error = yield* Effect.timeout(Effect.flip(call), "3 seconds")
    assert.equal(error._tag, "StoreUnavailable")
    assert.ok("retryable" in error && error.retryable)
  }
  yield* server.restart
  const records = yield* Effect.retry(store.get(partition, ["kept"]), { times: 10 })
  assert.equal(records[0]?.key, "kept")
  yield* Effect.retry(store.commit(partition, [put("b")]), { times: 10 })
  assert.equal((yield* store.get(partition, ["b"]))[0]?.key, "b")
})
