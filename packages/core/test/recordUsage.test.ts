import { assert, describe, it } from "@effect/vitest"
import type { QuotaEvent } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { Store, type StoreOperations } from "@tollgate/store"
import { eventually, isBackgroundCall } from "@tollgate/testing"
import { DateTime, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { stores } from "./stores.ts"
import { setTime, setUp, startOn, startProcess, sum, used } from "./usageServices.ts"

const start = "2027-03-14T09:30:00Z"
const most = Number.MAX_SAFE_INTEGER

describe.each(stores)("usage that is recorded after the fact, on %s", (_, store) => {
  const startAt = startOn(store)

  it.effect("counts above the maximum, and on the newest active subscription that has the meters", () =>
    Effect.gen(function* () {
      const { subscribe, record, createPlan } = yield* setUp({ requests: 10, tokens: 100 })
      const older = yield* subscribe({ customerKey: "bob" })
      yield* TestClock.adjust("1 second")
      const addOn = yield* createPlan("add-on", { bytes: 5 })
      const newer = yield* subscribe({
        customerKey: "bob",
        planIds: [addOn.id],
        planExternalIds: [addOn.planExternalId]
      })
      assert.deepStrictEqual(yield* record("bob", { requests: 8, tokens: 1 }), {
        requests: { max: 10, used: 8, remaining: 2 },
        tokens: { max: 100, used: 1, remaining: 99 }
      })
      assert.deepStrictEqual(yield* record("bob", { requests: 8 }), {
        requests: { max: 10, used: 16, remaining: 0, overage: 6 }
      })
      assert.strictEqual((yield* Effect.flip(older.consume({ requests: 1 })))._tag, "QuotaExceeded")
      assert.deepStrictEqual(yield* record("bob", { bytes: 50 }), {
        bytes: { max: 5, used: 50, remaining: 0, overage: 45 }
      })
      assert.deepStrictEqual(yield* older.usedQuotas, { requests: 16, tokens: 1 })
      assert.deepStrictEqual(yield* newer.usedQuotas, { bytes: 50 })
      assert.deepStrictEqual(used(yield* older.series()), { "2027-03-14T00:00": { requests: 16, tokens: 1 } })
    }).pipe(startAt(start))
  )

  it.effect("is refused for an unknown customer or meter, and without an active subscription", () =>
    Effect.gen(function* () {
      const { subscribe, record } = yield* setUp()
      const getTag = (customerKey: string, meters = { requests: 1 }) =>
        Effect.map(Effect.flip(record(customerKey, meters)), ({ _tag }) => _tag)
      assert.strictEqual(yield* getTag("alice"), "SubscriptionNotFound")
      const subscription = yield* subscribe()
      assert.strictEqual(yield* getTag("bob"), "SubscriptionNotFound")
      const unknown = { requests: 1, other: 1 }
      assert.strictEqual(yield* getTag("alice", unknown), "UnknownMeter")
      yield* subscription.update({ status: "canceled" })
      assert.strictEqual(yield* getTag("alice"), "SubscriptionNotActive")
      yield* subscription.update({ status: "past-due" })
      yield* record("alice", { requests: 1 })
      assert.deepStrictEqual(yield* subscription.usedQuotas, { requests: 1, tokens: 0 })
    }).pipe(startAt(start))
  )

  it.effect("ends at 2^53 - 1, and refuses to go beyond it", () =>
    Effect.gen(function* () {
      const { subscribe, record, totals } = yield* setUp({ requests: 10, bytes: most })
      const alice = yield* subscribe()
      const bob = yield* subscribe({ customerKey: "bob" })
      assert.deepStrictEqual(yield* record("alice", { requests: most }), {
        requests: { max: 10, used: most, remaining: 0, overage: most - 10 }
      })
      const error = yield* Effect.flip(record("alice", { requests: 1 }))
      assert.deepInclude(error, { _tag: "QuotaExceeded", meter: "requests", max: most })
      yield* record("alice", { bytes: most - 5 })
      // The total of the bucket is full. It must not stop the other customers.
      assert.strictEqual((yield* bob.consume({ requests: 3, bytes: 6 }))["requests"]?.used, 3)
      const { id } = yield* bob.reserve({ bytes: 100, requests: 2 })
      yield* bob.settle(id, { bytes: 50, requests: 1 })
      yield* record("bob", { bytes: 7 })
      assert.deepStrictEqual(yield* bob.usedQuotas, { requests: 4, bytes: 63 })
      assert.deepStrictEqual(used(yield* bob.series()), { "2027-03-14T00:00": { requests: 4, bytes: 63 } })
      assert.deepStrictEqual(used(yield* alice.series("hour")), {
        "2027-03-14T09:00": { requests: most, bytes: most - 5 }
      })
      const total = yield* totals()
      assert.strictEqual(sum(total), most)
      assert.isAtLeast(sum(total, "bytes"), most - 5)
    }).pipe(startAt(start))
  )

  it.effect("notifies of thresholds, as reservations do when they are settled", () => {
    const events: Array<readonly [string, number, number]> = []
    const onQuotaThreshold = ({ meter, threshold, used }: QuotaEvent) => {
      events.push([meter, threshold, used])
    }
    return Effect.gen(function* () {
      const { subscribe, record } = yield* setUp({ requests: 10, tokens: 100 })
      const subscription = yield* subscribe()
      const { id } = yield* subscription.reserve({ tokens: 85 })
      const waitFor = (check: () => void) => Effect.promise(() => eventually(check))
      yield* subscription.settle(id, { tokens: 85 })
      yield* waitFor(() => assert.deepStrictEqual(events, [["tokens", 0.8, 85]]))
      yield* subscription.reserve({ tokens: 5 })
      yield* record("alice", { requests: 25 })
      const recorded: typeof events = [
        ["requests", 0.8, 25],
        ["requests", 1, 25]
      ]
      yield* waitFor(() => assert.deepStrictEqual(events.slice(1), recorded))
    }).pipe(startAt(start, { onQuotaThreshold }))
  })
})

describe("counting", () => {
  /** A store that records the calls of operations. */
  const makeTrace = () => {
    const calls: Array<string> = []
    const recordCalls =
      <A extends readonly [string, unknown?, ...ReadonlyArray<unknown>], B>(name: string, run: (...args: A) => B) =>
      (...args: A): B => {
        if (!isBackgroundCall(name, args[0], args[1])) calls.push(name)
        return run(...args)
      }
    const layer = Layer.effect(
      Store,
      Effect.map(
        Store,
        (store): StoreOperations => ({
          ...store,
          get: recordCalls("get", store.get),
          list: recordCalls("list", store.list),
          counters: recordCalls("counters", store.counters),
          commit: recordCalls("commit", store.commit)
        })
      )
    ).pipe(Layer.provide(MemoryStore.layer))
    const trace = <A, E>(operation: Effect.Effect<A, E>) =>
      Effect.gen(function* () {
        calls.length = 0
        yield* Effect.exit(operation)
        return calls.join(" ")
      })
    return { trace, layer }
  }

  it.effect("opens an hour once: then a count or a refusal reads nothing but the counter that is exceeded", () => {
    const { trace, layer } = makeTrace()
    return Effect.gen(function* () {
      const { subscribe } = yield* setUp({ requests: 10 })
      const subscription = yield* subscribe({ quotaResetAnchor: DateTime.makeUnsafe(start) })
      yield* subscription.consume({ requests: 9 })
      // The second commit records that the whole quota is used, once, unless a part of it is reserved.
      assert.strictEqual(yield* trace(subscription.consume({ requests: 1 })), "commit counters commit")
      assert.strictEqual(yield* trace(subscription.consume({ requests: 1 })), "commit counters")
      yield* setTime("2027-03-15T10:00:00Z")
      assert.include(yield* trace(subscription.consume({ requests: 1 })), "get")
      for (let repeated = 0; repeated < 3; repeated++) {
        assert.strictEqual(yield* trace(subscription.consume({ requests: 1 })), "commit counters")
      }
      assert.deepStrictEqual(used(yield* subscription.series("hour")), { "2027-03-14T09:00": { requests: 10 } })
    }).pipe(startOn(layer)(start))
  })

  it.effect("reads only the ledger again after another process has written it", () => {
    const { trace, layer } = makeTrace()
    return Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp()
      const here = yield* subscribe()
      const there = yield* (yield* startProcess())(bucketId, here.id)
      yield* here.consume()
      yield* there.consume()
      // The first use of a meter is noted in the ledger.
      yield* here.consume({ tokens: 1 })
      assert.strictEqual(yield* trace(there.consume()), "commit get commit")
      assert.strictEqual(yield* trace(there.consume()), "commit")
      yield* setTime("2027-03-14T10:00:00Z")
      yield* here.consume()
      assert.strictEqual(yield* trace(there.consume()), "get commit")
      assert.strictEqual(sum(yield* there.series("hour")), 6)
    }).pipe(startOn(layer)(start))
  })
})
