import { expect, it } from "@effect/vitest"
import { MemoryStore } from "@tollgate/memory"
import { Change, Partition } from "@tollgate/store"
import { ManualClock, storeContract } from "@tollgate/store-testkit"
import { Clock, Effect } from "effect"
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
    const check = (expect: number) => Change.CheckCounter({ counter: "n", expect })
    yield* store.commit(partition, [check(1)])
    expect((yield* store.commit(partition, [], idempotency)).replayed).toBeDefined()
    yield* TestClock.adjust("1 millis")
    expect(yield* store.counters(partition, ["n"])).toEqual([0])
    expect(yield* Effect.flip(store.commit(partition, [check(1)]))).toMatchObject({ reason: "stale", subject: "n" })
    yield* store.commit(partition, [check(0)])
    expect((yield* store.commit(partition, [], idempotency)).replayed).toBeUndefined()
  })
)

it.live("follows a wall clock that is set forward only if its clock is the caller's", () =>
  Effect.gen(function* () {
    const partition = Partition.forKeyBucket("acme", "production")
    const take = Change.Take({ counter: "l", cost: 1, interval: 1_000_000, burst: 1, ttl: 60_000 })
    const takeTwice = (store: ReturnType<typeof MemoryStore.open>) => {
      const clock = new ManualClock()
      const attempt = Effect.provideService(store.commit(partition, [take]), Clock.Clock, clock)
      return Effect.gen(function* () {
        yield* attempt
        clock.setWall(3_600_000_000)
        return yield* Effect.isSuccess(attempt)
      })
    }
    expect(yield* takeTwice(MemoryStore.open())).toBe(false)
    expect(yield* takeTwice(MemoryStore.open({ clock: "caller" }))).toBe(true)
    expect(() => MemoryStore.open({ clock: "server" as never })).toThrow('clock: must be "monotonic" or "caller"')
  })
)
