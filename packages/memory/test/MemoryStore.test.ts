import { expect, it } from "@effect/vitest"
import { Change, Partition } from "@tollgate/core/store"
import { MemoryStore } from "@tollgate/memory"
import { storeContract } from "@tollgate/store-testkit"
import { Effect } from "effect"
import { TestClock } from "effect/testing"

storeContract("memory", MemoryStore.layer)

it("opens a new, empty store for callers outside Effect", async () => {
  const [one, two] = [MemoryStore.open(), MemoryStore.open()]
  const partition = Partition.forKeyBucket("acme", "production")
  await Effect.runPromise(
    one.commit(partition, [Change.Put({ key: "a", expect: 0, body: "", indexTerms: [], uniqueKeys: [] })])
  )
  expect(await Effect.runPromise(two.get(partition, ["a"]))).toEqual([undefined])
  await one.close()
})

it.effect("expires counters and idempotency ids", () =>
  Effect.gen(function* () {
    const store = MemoryStore.open()
    const partition = Partition.forKeyBucket("acme", "production")
    const add = (counter: string) => Change.Add({ counter, by: 1, ttl: 1_000 })
    const idempotency = { id: "id", fingerprint: "", result: "", ttl: 1_000 }
    yield* store.commit(partition, [add("n")], idempotency)
    yield* TestClock.adjust("999 millis")
    expect(yield* store.counters(partition, ["n"])).toEqual([1])
    expect((yield* store.commit(partition, [], idempotency)).replayed).toBeDefined()
    yield* TestClock.adjust("1 millis")
    expect(yield* store.counters(partition, ["n"])).toEqual([0])
    expect((yield* store.commit(partition, [], idempotency)).replayed).toBeUndefined()
  })
)
