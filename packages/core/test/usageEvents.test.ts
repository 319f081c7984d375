import { assert, describe, it } from "@effect/vitest"
import type { RecordedEventsJson } from "@tollgate/core"
import { Customers, Grants, Tollgate, Usage } from "@tollgate/core/effect"
import { Store, type StoreOperations, StoreUnavailable } from "@tollgate/store"
import { DateTime, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { secret, stores } from "./stores.ts"
import { dayMs, hourMs, setTime, setUp, startOn, startProcess, used } from "./usageServices.ts"

const start = "2027-03-14T09:30:00Z"
const most = Number.MAX_SAFE_INTEGER

/** In the middle of a period. */
const quotaResetAnchor = DateTime.makeUnsafe("2027-03-01T00:00:00Z")

let count = 0

/** An event of now, of a source that no other test uses. */
const makeEvent = (subject: string, meters: Readonly<Record<string, number>>, fields: object = {}) => ({
  specversion: "1.0",
  id: `event-${++count}`,
  source: "/gateway",
  type: "llm.completion",
  subject,
  time: start,
  data: { meters },
  ...fields
})

const record = (bucketId: string, payload: ReadonlyArray<unknown>, key?: string) =>
  Effect.flatMap(Usage, (usage) =>
    usage.recordEvents({
      params: { bucketId },
      ...(key === undefined ? {} : { headers: { idempotencyKey: key } }),
      payload
    })
  )

const accepted = (accepted: number, duplicates = 0): RecordedEventsJson => ({ accepted, duplicates, rejected: [] })

/** The events in an order that is the same in each run. */
const shuffle = <A>(items: ReadonlyArray<A>, seed: number): ReadonlyArray<A> =>
  items
    .map((item, index) => [Math.imul(index + 1, 2_654_435_761 ^ (seed * 40_503)) >>> 0, item] as const)
    .sort(([left], [right]) => left - right)
    .map(([, item]) => item)

/** A store that fails once a number of commits that count events were applied. */
const failAfter = (store: StoreOperations, commits: number): StoreOperations => {
  let applied = 0
  const operation = { operation: "commit", problem: "the test says so", outcome: "not-applied" } as const
  return {
    ...store,
    commit: (partition, changes, idempotency) => {
      const commit = store.commit(partition, changes, idempotency)
      if (!changes.some((change) => "counter" in change && change.counter.startsWith("event:"))) return commit
      const count = Effect.tap(commit, () => Effect.sync(() => applied++))
      return Effect.suspend(() => (applied >= commits ? Effect.fail(new StoreUnavailable(operation)) : count))
    }
  }
}

describe.each(stores)("usage as events, on %s", (_, store) => {
  const startAt = startOn(store)

  it.effect("counts as record does, also above the maximum, and each event once", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp({ requests: 10, tokens: 100 })
      const alice = yield* subscribe()
      const bob = yield* subscribe({ customerKey: "bob" })
      const first = makeEvent("alice", { requests: 8, tokens: 1 })
      const second = makeEvent("alice", { requests: 8 })
      const third = makeEvent("bob", { tokens: 5 }, { extension: "ignored", data: { meters: { tokens: 5 }, more: [] } })
      // The same `id` of another source is another event.
      const other = { ...first, source: "/other" }
      assert.deepStrictEqual(yield* record(bucketId, [first, second, first, third, other]), accepted(4, 1))
      assert.deepStrictEqual(yield* alice.usedQuotas, { requests: 24, tokens: 2 })
      assert.deepStrictEqual(yield* bob.usedQuotas, { requests: 0, tokens: 5 })
      assert.strictEqual((yield* alice.quotas)["requests"]?.overage, 14)
      assert.strictEqual((yield* Effect.flip(alice.consume({ requests: 1 })))._tag, "QuotaExceeded")
      const fourth = makeEvent("bob", { tokens: 2 })
      assert.deepStrictEqual(yield* record(bucketId, [third, fourth, first, other, second]), accepted(1, 4))
      assert.deepStrictEqual(yield* bob.usedQuotas, { requests: 0, tokens: 7 })
      assert.deepStrictEqual(used(yield* alice.series()), { "2027-03-14T00:00": { requests: 24, tokens: 2 } })
      assert.deepStrictEqual(yield* record(bucketId, []), accepted(0))
    }).pipe(startAt(start))
  )

  it.effect("counts events in their hours, in whatever order they come", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe, totals } = yield* setUp()
      const alice = yield* subscribe({ quotaResetAnchor })
      const bob = yield* subscribe({ customerKey: "bob", quotaResetAnchor })
      yield* alice.consume({ requests: 1_000 })
      const times = ["11T09:30:00", "12T23:59:59.999", "14T08:59:59", "14T09:00:00", "14T09:39:59", "13T00:00:00"]
      const events = times.flatMap((time, index) =>
        ["alice", "bob"].map((subject) =>
          makeEvent(subject, { requests: 10 ** index % 997 }, { time: `2027-03-${time}Z` })
        )
      )
      assert.deepStrictEqual(yield* record(bucketId, shuffle(events, 1)), accepted(12))
      const hours = {
        "2027-03-11T09:00": { requests: 1 },
        "2027-03-12T23:00": { requests: 10 },
        "2027-03-13T00:00": { requests: 300 },
        "2027-03-14T08:00": { requests: 100 }
      }
      const range = { from: "2027-03-11T00:00:00Z" }
      assert.deepStrictEqual(used(yield* bob.series("hour", range)), { ...hours, "2027-03-14T09:00": { requests: 33 } })
      const openHour = { "2027-03-14T09:00": { requests: 1_033 } }
      assert.deepStrictEqual(used(yield* alice.series("hour", range)), { ...hours, ...openHour })
      assert.deepStrictEqual(yield* alice.usedQuotas, { requests: 1_444, tokens: 0 })
      assert.deepStrictEqual(used(yield* totals(range)), {
        "2027-03-11T00:00": { requests: 2 },
        "2027-03-12T00:00": { requests: 20 },
        "2027-03-13T00:00": { requests: 600 },
        "2027-03-14T00:00": { requests: 1_266 }
      })
      // The hours stay what they are when others follow, and the days are rolled up.
      yield* TestClock.adjust("2 hours")
      yield* alice.consume({ requests: 5 })
      yield* TestClock.adjust("2 days")
      yield* alice.consume({ requests: 7 })
      const late = makeEvent("alice", { requests: 9 }, { time: "2027-03-13T12:00:00Z" })
      assert.deepStrictEqual(
        yield* record(bucketId, [late, late, ...shuffle(events, 2)]).pipe(Effect.map(({ accepted }) => accepted)),
        1
      )
      assert.deepStrictEqual(used(yield* alice.series("day", range)), {
        "2027-03-11T00:00": { requests: 1 },
        "2027-03-12T00:00": { requests: 10 },
        "2027-03-13T00:00": { requests: 309 },
        "2027-03-14T00:00": { requests: 1_138 },
        "2027-03-16T00:00": { requests: 7 }
      })
      assert.deepStrictEqual(yield* alice.usedQuotas, { requests: 1_465, tokens: 0 })
    }).pipe(startAt(start))
  )

  it.effect("adds events of an earlier period to the history, and not to the present quota", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe, createPlanWith } = yield* setUp()
      const plan = yield* createPlanWith("periods", {
        requests: { max: 10 },
        hits: { max: 10, period: "hour" },
        calls: { max: 10, period: "day" },
        seats: { max: 10, period: "none" }
      })
      yield* setTime("2027-03-13T12:00:00Z")
      const alice = yield* subscribe({
        planIds: [plan.id],
        planExternalIds: [plan.planExternalId],
        quotaResetAnchor: DateTime.makeUnsafe("2027-02-14T09:15:00Z")
      })
      yield* alice.consume({ requests: 3, hits: 3, calls: 3, seats: 3 })
      // The period has ended at 9:15, in the hour that is open.
      yield* setTime(start)
      const before = makeEvent("alice", { requests: 1, hits: 1, calls: 1, seats: 1 }, { time: "2027-03-14T09:10:00Z" })
      const yesterday = { ...before, id: "yesterday", time: "2027-03-13T12:10:00Z" }
      const now = { ...before, id: "now", time: "2027-03-14T09:29:00Z" }
      assert.deepStrictEqual(yield* record(bucketId, [now, before, yesterday]), accepted(3))
      assert.deepStrictEqual(yield* alice.usedQuotas, { requests: 1, hits: 2, calls: 2, seats: 6 })
      const periodsOf = (meter: string) =>
        Effect.map(alice.series("period", { meter, from: "2027-03-13T12:00:00Z" }), (series) =>
          Object.values(used(series)).map((amounts) => amounts[meter])
        )
      const check = (expected: Readonly<Record<string, Array<number>>>) =>
        Effect.gen(function* () {
          for (const [meter, amounts] of Object.entries(expected)) {
            assert.deepStrictEqual((yield* periodsOf(meter)).slice(0, 2), amounts, meter)
          }
          assert.deepStrictEqual(
            used(
              yield* alice.series("hour", {
                meter: "requests",
                from: "2027-03-13T12:00:00Z",
                to: "2027-03-14T10:00:00Z"
              })
            ),
            {
              "2027-03-13T12:00": { requests: 4 },
              "2027-03-14T09:00": { requests: 2 }
            }
          )
        })
      yield* check({ requests: [5, 1], hits: [4, 2], calls: [4, 2] })
      // When the periods are closed, too.
      yield* TestClock.adjust("2 days")
      yield* alice.consume({ requests: 1, hits: 1, calls: 1, seats: 1 })
      yield* check({ requests: [5, 2], hits: [4, 2], calls: [4, 2] })
      const late = { ...before, id: "late", time: "2027-03-14T09:14:59Z" }
      assert.deepStrictEqual(yield* record(bucketId, [late, yesterday]), accepted(1, 1))
      assert.deepStrictEqual(yield* periodsOf("requests"), [6, 2])
      assert.deepStrictEqual(yield* alice.usedQuotas, { requests: 2, hits: 1, calls: 1, seats: 8 })
    }).pipe(startAt(start))
  )

  it.effect("spends credit, and takes none for an earlier period", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp({ requests: 10 })
      yield* subscribe({ quotaResetAnchor: DateTime.makeUnsafe("2027-03-14T00:00:00Z") })
      const [customers, grants] = [yield* Customers, yield* Grants]
      const params = { bucketId, customerKey: "alice" }
      yield* grants.create({ params, payload: { meter: "requests", amount: 5 } })
      const event = makeEvent("alice", { requests: 12 })
      const late = makeEvent("alice", { requests: 2 }, { time: "2027-03-14T01:00:00Z" })
      const earlier = makeEvent("alice", { requests: 100 }, { time: "2027-03-13T23:59:59Z" })
      const batch = [event, late, earlier]
      assert.deepStrictEqual(yield* record(bucketId, batch), accepted(3))
      assert.deepStrictEqual(yield* record(bucketId, batch), accepted(0, 3))
      const { meters } = yield* customers.get({ params })
      assert.deepInclude(meters["requests"], { remaining: 1, credit: 1, overage: 0 })
      yield* record(bucketId, [makeEvent("alice", { requests: 3 })])
      const after = yield* customers.get({ params })
      assert.deepInclude(after.meters["requests"], { remaining: 0, credit: 0, overage: 2 })
    }).pipe(startAt(start))
  )

  it.effect("rejects what cannot be counted, and counts the others", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp({ requests: 10, tokens: 100 })
      const alice = yield* subscribe()
      const canceled = yield* subscribe({ customerKey: "carol" })
      yield* canceled.update({ status: "canceled" })
      const good = () => makeEvent("alice", { requests: 1 })
      const { time: _, ...timeless } = good()
      const events = [
        [good()],
        ["not an event", "bad-request", "The event: Expected an object"],
        [null, "bad-request", "The event: Expected an object"],
        [{ ...good(), specversion: "0.3" }, "bad-request", '/specversion: Expected "1.0"'],
        [{ ...good(), data: {} }, "bad-request", "/data/meters: is required"],
        [
          { ...good(), data: { meters: { requests: -1 } } },
          "bad-request",
          "/data/meters/requests: Expected a positive integer"
        ],
        [timeless, "bad-request", "/time: is required"],
        [{ ...good(), time: "2027-03-11T09:29:59.999Z" }, "event-too-old", "/time: is more than 72 hours ago"],
        [{ ...good(), time: "2027-03-14T09:40:00.001Z" }, "event-in-future", "/time: is more than 10 minutes ahead"],
        [
          makeEvent("bob", { requests: 1 }),
          "subscription-not-found",
          'The customer "bob" has no subscription in this metering bucket'
        ],
        [
          makeEvent("carol", { requests: 1 }),
          "subscription-not-active",
          "The subscription is not active; it must be active, trialing or past-due"
        ],
        [
          makeEvent("alice", { other: 1, requests: 1 }),
          "unknown-meter",
          'No plan of the subscription has the meter "other". Correct the name or add the meter to a plan.'
        ],
        [good()]
      ] as const
      const result = yield* record(
        bucketId,
        events.map(([event]) => event)
      )
      assert.deepStrictEqual(result, {
        accepted: 2,
        duplicates: 0,
        rejected: events.flatMap(([, code, detail], index) => (code === undefined ? [] : [{ index, code, detail }]))
      })
      assert.deepStrictEqual(yield* alice.usedQuotas, { requests: 2, tokens: 0 })
      // Nothing that was rejected is remembered.
      yield* subscribe({ customerKey: "bob" })
      assert.deepStrictEqual(
        yield* record(
          bucketId,
          events.slice(9, 10).map(([event]) => event)
        ),
        accepted(1)
      )
    }).pipe(startAt(start))
  )

  it.effect("tries the next of equal events if the first is rejected", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp()
      const alice = yield* subscribe()
      const event = makeEvent("alice", { requests: 1 })
      const other = { ...event, data: { meters: { other: 1 } } }
      const { accepted, duplicates, rejected } = yield* record(bucketId, [other, other, event, other, event])
      assert.deepStrictEqual([accepted, duplicates, rejected.map(({ index }) => index)], [1, 2, [0, 1]])
      assert.deepStrictEqual(yield* alice.usedQuotas, { requests: 1, tokens: 0 })
    }).pipe(startAt(start))
  )

  it.effect("rejects only the events that a counter has no room for", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp()
      const alice = yield* subscribe({ quotaResetAnchor })
      const amounts = [most - 10, 7, 4, 3, most]
      for (const time of [start, "2027-03-14T09:00:00Z", "2027-03-14T08:00:00Z"]) {
        const meter = time === "2027-03-14T08:00:00Z" ? "tokens" : "requests"
        const events = amounts.map((amount) => makeEvent("alice", { [meter]: amount }, { time }))
        const { accepted, rejected } = yield* record(bucketId, events)
        if (time === start) assert.deepStrictEqual([accepted, rejected.map(({ index }) => index)], [3, [2, 4]])
        assert.deepStrictEqual([...new Set(rejected.map(({ code }) => code))], ["quota-exceeded"])
      }
      assert.deepStrictEqual(yield* alice.usedQuotas, { requests: most, tokens: most })
    }).pipe(startAt(start))
  )

  it.effect("counts each event once that two processes send at once, in other orders", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp()
      const names = ["alice", "bob", "carol", "dave"]
      const subscriptions = yield* Effect.forEach(names, (customerKey) => subscribe({ customerKey, quotaResetAnchor }))
      const events = Array.from({ length: 400 }, (_, index) => {
        const time = index % 5 === 0 ? "2027-03-14T07:30:00Z" : start
        return makeEvent(names[index % 4] ?? "", { requests: 1, ...(index % 3 === 0 ? { tokens: 2 } : {}) }, { time })
      })
      const context = yield* Layer.build(Layer.fresh(Tollgate.layer({ secret })))
      const results = yield* Effect.all(
        [
          record(bucketId, events),
          Effect.provideContext(record(bucketId, shuffle(events, 3)), context),
          record(bucketId, shuffle(events, 4))
        ],
        { concurrency: "unbounded" }
      )
      assert.strictEqual(
        results.reduce((sum, { accepted }) => sum + accepted, 0),
        400
      )
      assert.strictEqual(
        results.reduce((sum, { duplicates }) => sum + duplicates, 0),
        800
      )
      const sums = { requests: 0, tokens: 0 }
      for (const subscription of subscriptions) {
        const { requests = 0, tokens = 0 } = yield* subscription.usedQuotas
        sums.requests += requests
        sums.tokens += tokens
        assert.strictEqual(requests, 100)
        assert.deepStrictEqual(used(yield* subscription.series("hour", { meter: "requests" })), {
          "2027-03-14T07:00": { requests: 20 },
          "2027-03-14T09:00": { requests: 80 }
        })
      }
      assert.deepStrictEqual(sums, { requests: 400, tokens: 268 })
    }).pipe(startAt(start))
  )

  it.effect("counts the rest when a batch is sent again that failed half way", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp()
      const names = Array.from({ length: 20 }, (_, index) => `customer-${index}`)
      const subscriptions = yield* Effect.forEach(names, (customerKey) => subscribe({ customerKey, quotaResetAnchor }))
      const events = names.flatMap((name, index) => [
        makeEvent(name, { requests: 1 }),
        makeEvent(name, { requests: 10 }, { time: index % 2 === 0 ? start : "2027-03-14T06:00:00Z" })
      ])
      const failing = Layer.fresh(Tollgate.layer({ secret })).pipe(
        Layer.provide(
          Layer.effect(
            Store,
            Effect.map(Store, (store) => failAfter(store, 2))
          )
        )
      )
      const error = yield* Effect.flip(Effect.provide(record(bucketId, events), failing))
      assert.strictEqual(error._tag, "StoreUnavailable")
      const { accepted, duplicates } = yield* record(bucketId, events)
      assert.strictEqual(accepted + duplicates, 40)
      assert.isAtLeast(duplicates, 2)
      assert.isAtLeast(accepted, 1)
      for (const subscription of subscriptions) assert.deepStrictEqual((yield* subscription.usedQuotas)["requests"], 11)
      assert.deepStrictEqual(yield* record(bucketId, events), { accepted: 0, duplicates: 40, rejected: [] })
    }).pipe(startAt(start))
  )

  it.effect("remembers an event for as long as it may be sent", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp()
      const alice = yield* subscribe({ quotaResetAnchor })
      const event = makeEvent("alice", { requests: 1 }, { time: "2027-03-14T09:40:00Z" })
      assert.deepStrictEqual(yield* record(bucketId, [event]), accepted(1))
      yield* TestClock.adjust(3 * dayMs + 10 * 60 * 1000)
      assert.deepStrictEqual(yield* record(bucketId, [event]), accepted(0, 1))
      yield* TestClock.adjust(hourMs)
      assert.deepInclude(yield* record(bucketId, [event]), { accepted: 0, duplicates: 0 })
      assert.deepStrictEqual(yield* alice.usedQuotas, { requests: 1, tokens: 0 })
    }).pipe(startAt(start))
  )

  it.effect("returns the first result for an idempotency key, and refuses it for other events before it counts", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp()
      const alice = yield* subscribe()
      const [first, second] = [makeEvent("alice", { requests: 1 }), makeEvent("alice", { requests: 10 })]
      assert.deepStrictEqual(yield* record(bucketId, [first], "key"), accepted(1))
      assert.deepStrictEqual(yield* record(bucketId, [first], "key"), accepted(1))
      assert.strictEqual((yield* Effect.flip(record(bucketId, [second], "key")))._tag, "IdempotencyKeyReused")
      assert.deepStrictEqual(yield* record(bucketId, [first, second], "other"), accepted(1, 1))
      assert.deepStrictEqual(yield* alice.usedQuotas, { requests: 11, tokens: 0 })
      const missing = yield* Effect.flip(record("bckt_missing", [first]))
      assert.strictEqual(missing._tag, "MeteringBucketNotFound")
    }).pipe(startAt(start))
  )

  it.effect("counts exactly beside requests of another process", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp()
      const alice = yield* subscribe({ quotaResetAnchor })
      const there = yield* (yield* startProcess())(bucketId, alice.id)
      const batches = Array.from({ length: 8 }, (_, batch) =>
        Array.from({ length: 25 }, (_, index) =>
          makeEvent("alice", { requests: 1 }, { time: (batch + index) % 6 === 0 ? "2027-03-14T08:00:00Z" : start })
        )
      )
      yield* Effect.all(
        [
          Effect.forEach(batches, (batch) => record(bucketId, batch), { concurrency: 3 }),
          Effect.forEach(Array.from({ length: 100 }), () => there.consume()),
          Effect.forEach(Array.from({ length: 30 }), () =>
            Effect.flatMap(alice.reserve({ requests: 2 }), ({ id }) => alice.settle(id, { requests: 1 }))
          )
        ],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(yield* alice.usedQuotas, { requests: 330, tokens: 0 })
      const series = used(yield* alice.series("hour", { meter: "requests" }))
      const late = batches.flat().filter(({ time }) => time !== start).length
      assert.deepStrictEqual(series, {
        "2027-03-14T08:00": { requests: late },
        "2027-03-14T09:00": { requests: 330 - late }
      })
    }).pipe(startAt(start))
  )
})
