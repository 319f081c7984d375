/**
 * Loses the replies to commits, and checks that each was applied once and that its caller got its result.
 */
import assert from "node:assert/strict"
import { Change, Partition, type StoreOperations } from "@tollgate/store"
import { Effect } from "effect"
import type { FaultyProxy } from "./faultyProxy.ts"

const partition = Partition.forKeyBucket("acme", "production")
const add = Change.Add({ counter: "n", by: 1, ttl: 60_000 })

/** `store` is opened through the proxy. */
export const loseReplies = Effect.fnUntraced(function* (store: StoreOperations, proxy: FaultyProxy) {
  for (let round = 1; round <= 5; round++) {
    const [key, body] = [`r${round}`, `mark ${round}`]
    proxy.cutReplyTo(body)
    const put = Change.Put({ key, expect: 0, body, indexTerms: ["t"], uniqueKeys: [] })
    const committed = yield* store.commit(partition, [put, add])
    assert.equal(proxy.cuts(), round)
    assert.equal(committed.totals.get("n"), round)
    assert.equal(committed.replayed, undefined)
    assert.equal((yield* store.get(partition, [key]))[0]?.version, committed.versions.get(key))
  }
  const idempotency = { id: "id", fingerprint: "f", result: "mark 6", ttl: 60_000 }
  proxy.cutReplyTo("mark 6")
  assert.equal((yield* store.commit(partition, [add], idempotency)).replayed, undefined)
  assert.equal((yield* store.commit(partition, [add], idempotency)).replayed?.result, "mark 6")
  assert.deepEqual(yield* store.counters(partition, ["n"]), [6])
})
