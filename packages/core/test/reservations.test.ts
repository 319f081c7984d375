import { assert, describe, it } from "@effect/vitest"
import { Partition, Store } from "@tollgate/store"
import { StoreState } from "@tollgate/store-testkit"
import { eventually, waitForEvents } from "@tollgate/testing"
import { DateTime, Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import { embeddedStores, stores } from "./stores.ts"
import { setTime, setUp, startOn, startProcess, sum, used } from "./usageServices.ts"

const getTag = <A>(operation: Effect.Effect<A, unknown, never>) =>
  Effect.match(operation, {
    onFailure: (error) => (error as { readonly _tag: string })._tag,
    onSuccess: () => "Success"
  })

/** How often each outcome occurs. */
const countTags = (tags: ReadonlyArray<string>): Readonly<Record<string, number>> =>
  Object.fromEntries([...new Set(tags)].sort().map((tag) => [tag, tags.filter((other) => other === tag).length]))

const start = "2027-03-14T09:30:00Z"

describe.each(stores)("reservations, on %s", (_, store) => {
  const startAt = startOn(store)

  it.effect("count at once, and are settled at what was used", () =>
    Effect.gen(function* () {
      const { subscribe } = yield* setUp({ requests: 10, tokens: 100 })
      const subscription = yield* subscribe()
      const reserved = yield* subscription.reserve({ tokens: 60, requests: 2 })
      assert.match(reserved.id, /^rsv_[0-9A-Za-z]{24}$/)
      assert.deepStrictEqual(reserved.meters, { tokens: 60, requests: 2 })
      assert.strictEqual(DateTime.formatIso(reserved.expiresOn), "2027-03-14T09:31:00.000Z")
      assert.deepStrictEqual(reserved.quotas.meters, {
        tokens: { max: 100, used: 60, remaining: 40 },
        requests: { max: 10, used: 2, remaining: 8 }
      })
      assert.deepStrictEqual(yield* subscription.usedQuotas, { tokens: 60, requests: 2 })
      assert.strictEqual(sum(yield* subscription.series("period"), "tokens"), 0)
      const settled = yield* subscription.settle(reserved.id, { tokens: 25 })
      assert.deepStrictEqual(settled, {
        tokens: { max: 100, used: 25, remaining: 75 },
        requests: { max: 10, used: 0, remaining: 10 }
      })
      assert.deepStrictEqual(yield* subscription.quotas, settled)
      assert.deepStrictEqual(used(yield* subscription.series("hour")), { "2027-03-14T09:00": { tokens: 25 } })
      const all = yield* subscription.reserve({ tokens: 75, requests: 10 }, 3_600)
      assert.strictEqual(DateTime.formatIso(all.expiresOn), "2027-03-14T10:30:00.000Z")
      assert.deepStrictEqual(yield* subscription.settle(all.id, { tokens: 75, requests: 10 }), {
        tokens: { max: 100, used: 100, remaining: 0 },
        requests: { max: 10, used: 10, remaining: 0 }
      })
      assert.deepStrictEqual(yield* subscription.usedQuotas, { tokens: 100, requests: 10 })
    }).pipe(startAt(start))
  )

  it.effect("give back everything when they are released, or settled at 0", () =>
    Effect.gen(function* () {
      const { subscribe } = yield* setUp({ requests: 10, tokens: 100 })
      const subscription = yield* subscribe()
      yield* subscription.consume({ tokens: 7 })
      for (const end of [
        (id: string) => subscription.release(id),
        (id: string) => subscription.settle(id),
        (id: string) => subscription.settle(id, { tokens: 0, requests: 0 })
      ]) {
        const { id } = yield* subscription.reserve({ tokens: 93, requests: 10 })
        yield* end(id)
        assert.deepStrictEqual(yield* subscription.usedQuotas, { tokens: 7, requests: 0 })
        assert.strictEqual(yield* getTag(subscription.settle(id)), "ReservationSettled")
        assert.strictEqual(yield* getTag(subscription.release(id)), "ReservationSettled")
      }
      assert.deepStrictEqual(used(yield* subscription.series()), { "2027-03-14T00:00": { tokens: 7 } })
    }).pipe(startAt(start))
  )

  it.effect("are settled at no more than was reserved, and at no other meter", () =>
    Effect.gen(function* () {
      const { subscribe } = yield* setUp({ requests: 10, tokens: 100, constructor: 5 })
      const subscription = yield* subscribe()
      const { id } = yield* subscription.reserve({ tokens: 50, requests: 5 })
      for (const meters of [
        { tokens: 51 },
        { tokens: 1, requests: 6 },
        { other: 1 },
        { constructor: 1 },
        { tokens: 2 ** 53 - 1 }
      ]) {
        assert.strictEqual(yield* getTag(subscription.settle(id, meters)), "InvalidInput")
      }
      assert.deepStrictEqual(yield* subscription.usedQuotas, { tokens: 50, requests: 5, constructor: 0 })
      yield* subscription.settle(id, { tokens: 50 })
      assert.deepStrictEqual(yield* subscription.usedQuotas, { tokens: 50, requests: 0, constructor: 0 })
    }).pipe(startAt(start))
  )

  it.effect("take all meters or none, and never more than the maximum", () =>
    Effect.gen(function* () {
      const { subscribe } = yield* setUp({ requests: 10, tokens: 100 })
      const subscription = yield* subscribe()
      yield* subscription.reserve({ tokens: 60 })
      for (const meters of [{ requests: 1, tokens: 41 }, { requests: 11 }]) {
        assert.strictEqual(yield* getTag(subscription.reserve(meters)), "QuotaExceeded")
        assert.strictEqual(yield* getTag(subscription.consume(meters)), "QuotaExceeded")
      }
      assert.strictEqual(yield* getTag(subscription.reserve({ requests: 1, other: 1 })), "UnknownMeter")
      assert.deepStrictEqual(yield* subscription.usedQuotas, { tokens: 60, requests: 0 })
      const tags = yield* Effect.all(
        Array.from({ length: 30 }, () => getTag(subscription.reserve({ tokens: 5, requests: 1 }))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(countTags(tags), { QuotaExceeded: 22, Success: 8 })
      assert.deepStrictEqual(yield* subscription.usedQuotas, { tokens: 100, requests: 8 })
    }).pipe(startAt(start))
  )

  it.effect("that have expired are given back before quotas are read and before a request is refused", () =>
    Effect.gen(function* () {
      const { subscribe } = yield* setUp({ requests: 10, tokens: 100 })
      const subscription = yield* subscribe()
      const { id } = yield* subscription.reserve({ tokens: 100 }, 1)
      yield* TestClock.adjust("999 millis")
      assert.strictEqual((yield* subscription.usedQuotas)["tokens"], 100)
      assert.strictEqual(yield* getTag(subscription.consume({ tokens: 1 })), "QuotaExceeded")
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* subscription.usedQuotas)["tokens"], 0)
      assert.strictEqual(yield* getTag(subscription.settle(id, { tokens: 1 })), "ReservationExpired")
      assert.strictEqual(yield* getTag(subscription.release(id)), "ReservationExpired")
      yield* subscription.reserve({ tokens: 100 }, 1)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* subscription.consume({ tokens: 40 }), {
        tokens: { max: 100, used: 40, remaining: 60 }
      })
      const other = yield* subscription.reserve({ tokens: 60 }, 3_600)
      yield* TestClock.adjust("1 hour")
      const { quotas } = yield* subscription.reserve({ tokens: 60 })
      assert.strictEqual(quotas.meters["tokens"]?.used, 100)
      // Settling late counts nothing.
      assert.strictEqual(yield* getTag(subscription.settle(other.id, { tokens: 60 })), "ReservationExpired")
      assert.strictEqual((yield* subscription.usedQuotas)["tokens"], 100)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* subscription.usedQuotas)["tokens"], 40)
      assert.strictEqual(sum(yield* subscription.series(), "tokens"), 40)
    }).pipe(startAt(start))
  )

  it.effect("that have expired are not in what a process answers, whichever process has made them", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp({ requests: 10, tokens: 100 })
      const here = yield* subscribe()
      const there = yield* (yield* startProcess())(bucketId, here.id)
      yield* here.consume({ tokens: 1 })
      yield* there.consume({ tokens: 1 })
      yield* here.reserve({ tokens: 50 }, 10)
      yield* here.reserve({ tokens: 10 }, 1)
      yield* there.reserve({ tokens: 20 }, 60)
      assert.strictEqual((yield* there.consume({ tokens: 1 }))["tokens"]?.used, 83)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* there.consume({ tokens: 1 }))["tokens"]?.used, 74)
      yield* TestClock.adjust("9 seconds")
      const { quotas } = yield* here.reserve({ tokens: 1 }, 1)
      assert.strictEqual(quotas.meters["tokens"]?.used, 25)
      yield* TestClock.adjust("50 seconds")
      assert.strictEqual((yield* there.consume({ tokens: 1 }))["tokens"]?.used, 5)
      assert.strictEqual((yield* here.consume({ tokens: 1 }))["tokens"]?.used, 6)
    }).pipe(startAt(start))
  )

  it.effect("that have expired are given back by any process that starts", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp()
      const subscriptions = yield* Effect.forEach(["alice", "bob"], (customerKey) => subscribe({ customerKey }))
      for (const subscription of subscriptions) {
        for (let index = 0; index < 130; index++) yield* subscription.reserve({ tokens: 1 }, index % 2 === 0 ? 1 : 600)
      }
      yield* TestClock.adjust("2 seconds")
      const ids = subscriptions.map(({ id }) => id)
      const counters = ids.flatMap((id) => ["usage", "held"].map((kind) => `${kind}:${id}:tokens:${Date.parse(start)}`))
      const read = Effect.flatMap(Store, (store) => store.counters(Partition.forMeteringBucket(bucketId), counters))
      assert.deepStrictEqual(yield* read, [130, 130, 130, 130])
      yield* startProcess()
      // The sweep runs in the background.
      const store = yield* Store
      const readNow = () => Effect.runPromise(Effect.provideService(read, Store, store))
      yield* Effect.promise(() => eventually(async () => assert.deepStrictEqual(await readNow(), [65, 65, 65, 65])))
      yield* Effect.forEach(subscriptions, ({ usedQuotas }) =>
        Effect.map(usedQuotas, ({ tokens }) => assert.strictEqual(tokens, 65))
      )
    }).pipe(startAt(start))
  )

  it.effect("end exactly once, however many try at the same time", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp({ requests: 1_000, tokens: 1_000 })
      const here = yield* subscribe()
      const there = yield* (yield* startProcess())(bucketId, here.id)
      for (const minutes of [0, 45]) {
        const { id } = yield* here.reserve({ tokens: 100 }, 3_600)
        yield* TestClock.adjust(minutes * 60_000)
        const before = (yield* here.usedQuotas)["tokens"] ?? 0
        const ends = Array.from({ length: 10 }, () => [
          here.settle(id, { tokens: 60 }),
          there.settle(id, { tokens: 60 })
        ]).flat()
        const tags = yield* Effect.all(ends.map(getTag), { concurrency: "unbounded" })
        assert.deepStrictEqual(countTags(tags), { ReservationSettled: 19, Success: 1 })
        assert.strictEqual((yield* there.usedQuotas)["tokens"], before - 40)
      }
      const { id } = yield* here.reserve({ tokens: 100 }, 3_600)
      const before = (yield* here.usedQuotas)["tokens"] ?? 0
      const outcomes = yield* Effect.all(
        Array.from({ length: 10 }, () => [
          Effect.exit(Effect.asVoid(here.settle(id, { tokens: 60 }))),
          Effect.exit(there.release(id))
        ]).flat(),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(outcomes.filter(Exit.isSuccess).length, 1)
      const isSettled = outcomes.some((exit, index) => index % 2 === 0 && Exit.isSuccess(exit))
      assert.strictEqual((yield* there.usedQuotas)["tokens"], before - (isSettled ? 40 : 100))
      for (const step of ["hour", "day", "period"] as const) {
        assert.strictEqual(sum(yield* there.series(step), "tokens"), isSettled ? 180 : 120, step)
      }
    }).pipe(startAt(start))
  )

  it.effect("are either settled or given back when they expire meanwhile", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp()
      const here = yield* subscribe()
      // The clock of the other process says that they have expired.
      const there = yield* (yield* startProcess(2_000))(bucketId, here.id)
      let settled = 0
      for (let round = 0; round < 10; round++) {
        const { id } = yield* here.reserve({ tokens: 10 }, 1)
        const [settling] = yield* Effect.all(
          [getTag(here.settle(id, { tokens: 7 })), there.usedQuotas, there.usedQuotas],
          { concurrency: "unbounded" }
        )
        assert.include(["Success", "ReservationExpired"], settling)
        if (settling === "Success") settled += 7
        assert.strictEqual((yield* here.usedQuotas)["tokens"], settled)
        assert.strictEqual(
          yield* getTag(there.release(id)),
          settling === "Success" ? "ReservationSettled" : "ReservationExpired"
        )
      }
      assert.strictEqual(sum(yield* here.series("hour"), "tokens"), settled)
    }).pipe(startAt(start))
  )

  it.effect("are limited to 1,000 open ones, and expired ones make room", () =>
    Effect.gen(function* () {
      const { subscribe } = yield* setUp()
      const subscription = yield* subscribe()
      const other = yield* subscribe()
      const first = yield* subscription.reserve({ tokens: 1 }, 3_600)
      yield* Effect.all(
        Array.from({ length: 998 }, () => subscription.reserve({ tokens: 1 }, 60)),
        { concurrency: 50 }
      )
      yield* subscription.reserve({ tokens: 1 }, 3_600)
      assert.strictEqual(yield* getTag(subscription.reserve({ tokens: 1 })), "ReservationLimit")
      assert.strictEqual((yield* subscription.usedQuotas)["tokens"], 1_000)
      yield* other.reserve({ tokens: 1 })
      yield* subscription.release(first.id)
      yield* subscription.reserve({ tokens: 1 }, 3_600)
      assert.strictEqual(yield* getTag(subscription.reserve({ tokens: 1 })), "ReservationLimit")
      yield* TestClock.adjust("1 minute")
      yield* subscription.reserve({ tokens: 1 })
      assert.strictEqual((yield* subscription.usedQuotas)["tokens"], 3)
    }).pipe(startAt(start))
  )

  it.effect("count in the hour and the period in which they were made", () =>
    Effect.gen(function* () {
      const { subscribe, totals } = yield* setUp()
      const subscription = yield* subscribe({ quotaResetAnchor: DateTime.makeUnsafe("2027-01-31T23:45:00Z") })
      yield* subscription.consume({ tokens: 1 })
      const settledLater = yield* subscription.reserve({ tokens: 100 }, 3_600)
      const settledLast = yield* subscription.reserve({ tokens: 100 }, 3_600)
      const released = yield* subscription.reserve({ tokens: 100 }, 3_600)
      yield* setTime("2027-04-01T00:10:00Z")
      // Another day, month and period, which closes the hour and rolls up the day.
      yield* subscription.consume({ tokens: 2 })
      assert.deepStrictEqual(yield* subscription.usedQuotas, { requests: 0, tokens: 2 })
      const settled = yield* subscription.settle(settledLater.id, { tokens: 40 })
      assert.deepStrictEqual(settled["tokens"], { max: 1_000_000, used: 241, remaining: 999_759 })
      yield* subscription.release(released.id)
      yield* subscription.settle(settledLast.id, { tokens: 4 })
      yield* subscription.consume({ tokens: 3 })
      const days = { "2027-03-31T00:00": { tokens: 45 }, "2027-04-01T00:00": { tokens: 5 } }
      const check = Effect.gen(function* () {
        assert.deepStrictEqual(used(yield* subscription.series("hour")), {
          "2027-03-31T23:00": { tokens: 45 },
          "2027-04-01T00:00": { tokens: 5 }
        })
        assert.deepStrictEqual(used(yield* subscription.series("day")), days)
        assert.deepStrictEqual(used(yield* totals()), days)
        assert.deepStrictEqual(used(yield* subscription.series("period")), {
          "2027-02-28T23:45": { tokens: 45 },
          "2027-03-31T23:45": { tokens: 5 }
        })
        assert.deepStrictEqual(yield* subscription.usedQuotas, { requests: 0, tokens: 5 })
      })
      yield* check
      yield* setTime("2027-04-01T01:10:00Z")
      yield* check
    }).pipe(startAt("2027-03-31T23:44:59Z"))
  )

  it.effect("stay open while the plan changes", () =>
    Effect.gen(function* () {
      const { subscribe, setMaxima, createPlan } = yield* setUp({ requests: 10, tokens: 100 })
      const subscription = yield* subscribe()
      const first = yield* subscription.reserve({ tokens: 80, requests: 1 })
      const second = yield* subscription.reserve({ tokens: 20 })
      const third = yield* subscription.reserve({ requests: 2 })
      yield* setMaxima({ requests: 10, tokens: 50 })
      assert.deepStrictEqual((yield* subscription.quotas)["tokens"], { max: 50, used: 100, remaining: 0, overage: 50 })
      assert.deepStrictEqual((yield* subscription.settle(first.id, { tokens: 70 }))["tokens"], {
        max: 50,
        used: 90,
        remaining: 0,
        overage: 40
      })
      yield* setMaxima({ requests: 10 })
      assert.deepStrictEqual(yield* subscription.settle(second.id, { tokens: 5 }), {
        tokens: { max: 0, used: 75, remaining: 0, overage: 75 }
      })
      assert.deepStrictEqual(yield* subscription.usedQuotas, { requests: 2 })
      yield* createPlan("other", { bytes: 7 })
      yield* subscription.update({ planExternalIds: ["other"] })
      assert.strictEqual(yield* getTag(subscription.reserve({ requests: 1 })), "UnknownMeter")
      yield* subscription.release(third.id)
      assert.deepStrictEqual(used(yield* subscription.series("period")), {
        "2027-03-14T09:30": { tokens: 75 }
      })
    }).pipe(startAt(start))
  )

  it.effect("are settled in any status of the subscription, and made in an active one only", () =>
    Effect.gen(function* () {
      const { subscribe } = yield* setUp()
      const subscription = yield* subscribe()
      const first = yield* subscription.reserve({ tokens: 10 })
      const second = yield* subscription.reserve({ tokens: 10 })
      yield* subscription.update({ status: "canceled" })
      assert.strictEqual(yield* getTag(subscription.reserve({ tokens: 1 })), "SubscriptionNotActive")
      assert.strictEqual((yield* subscription.settle(first.id, { tokens: 4 }))["tokens"]?.used, 14)
      yield* subscription.release(second.id)
      assert.strictEqual((yield* subscription.usedQuotas)["tokens"], 4)
    }).pipe(startAt(start))
  )

  it.effect("belong to one subscription", () =>
    Effect.gen(function* () {
      const mine = yield* setUp()
      const [subscription, other] = [yield* mine.subscribe(), yield* mine.subscribe()]
      const elsewhere = yield* (yield* setUp()).subscribe()
      const ended = yield* subscription.reserve({ tokens: 1 })
      yield* subscription.release(ended.id)
      const { id } = yield* subscription.reserve({ tokens: 10 })
      for (const reservationId of [id, ended.id]) {
        for (const stranger of [other, elsewhere]) {
          assert.strictEqual(yield* getTag(stranger.settle(reservationId, { tokens: 1 })), "ReservationNotFound")
          assert.strictEqual(yield* getTag(stranger.release(reservationId)), "ReservationNotFound")
        }
      }
      for (const unknown of ["rsv_x", "", "a/b", "rsv_".padEnd(5_000, "x"), "__proto__"]) {
        assert.strictEqual(yield* getTag(subscription.settle(unknown)), "ReservationNotFound")
      }
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(yield* getTag(other.release(id)), "ReservationNotFound")
      assert.strictEqual(yield* getTag(subscription.release(id)), "ReservationExpired")
    }).pipe(startAt(start))
  )

  it.effect("return the same result again for the same idempotency key, also after they have ended", () =>
    Effect.gen(function* () {
      const { subscribe, record } = yield* setUp({ requests: 10, tokens: 100 })
      const subscription = yield* subscribe()
      const reserve = subscription.reserve({ tokens: 60 }, 30, "reserve")
      const reserved = yield* reserve
      assert.deepStrictEqual(yield* reserve, reserved)
      const settle = subscription.settle(reserved.id, { tokens: 20 }, "settle")
      const settled = yield* settle
      assert.deepStrictEqual(yield* settle, settled)
      assert.deepStrictEqual(yield* reserve, reserved)
      assert.strictEqual(
        yield* getTag(subscription.settle(reserved.id, { tokens: 21 }, "settle")),
        "IdempotencyKeyReused"
      )
      assert.strictEqual(yield* getTag(subscription.reserve({ tokens: 61 }, 30, "reserve")), "IdempotencyKeyReused")
      assert.strictEqual(yield* getTag(subscription.settle(reserved.id, { tokens: 20 }, "other")), "ReservationSettled")
      const whole = yield* subscription.reserve({ tokens: 80 })
      const settleAll = subscription.settle(whole.id, { tokens: 80 }, "all")
      const all = yield* settleAll
      assert.deepStrictEqual(all, { tokens: { max: 100, used: 100, remaining: 0 } })
      const other = yield* subscription.reserve({ requests: 1 })
      yield* subscription.release(other.id, "release")
      yield* subscription.release(other.id, "release")
      yield* record("alice", { requests: 4, tokens: 4 }, "record")
      const recorded = yield* record("alice", { requests: 4, tokens: 4 }, "record")
      assert.deepStrictEqual(recorded, {
        requests: { max: 10, used: 4, remaining: 6 },
        tokens: { max: 100, used: 104, remaining: 0, overage: 4 }
      })
      assert.strictEqual(yield* getTag(record("alice", { requests: 5 }, "record")), "IdempotencyKeyReused")
      yield* TestClock.adjust("2 hours")
      yield* subscription.update({ status: "canceled" })
      assert.deepStrictEqual([yield* reserve, yield* settle, yield* settleAll], [reserved, settled, all])
      assert.deepStrictEqual(yield* record("alice", { requests: 4, tokens: 4 }, "record"), recorded)
      yield* subscription.release(other.id, "release")
      assert.deepStrictEqual(yield* subscription.usedQuotas, { requests: 4, tokens: 104 })
    }).pipe(startAt(start))
  )

  it.effect("leave nothing in the store when their subscription is removed", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe, totals } = yield* setUp()
      // The directory remembers that the bucket has reservations, and the customer that it had a subscription.
      const first = yield* subscribe()
      yield* first.release((yield* first.reserve({ tokens: 1 })).id)
      yield* first.remove
      const state = yield* StoreState
      const summarize = Effect.map(state.snapshot, (snapshot) => {
        const { records, counters, terms } = snapshot[Partition.forMeteringBucket(bucketId)] ?? {
          records: [],
          counters: {},
          terms: {}
        }
        return {
          keys: records.map(({ key }) => key),
          terms,
          counters: Object.keys(counters).filter((name) => !/^(usage-day|reservation):/.test(name))
        }
      })
      const store = yield* Store
      yield* waitForEvents(store)
      const before = yield* summarize
      const subscription = yield* subscribe()
      const open: Array<string> = []
      for (let month = 0; month < 5; month++) {
        for (let day = 0; day < 4; day++) {
          yield* subscription.consume({ requests: 1, tokens: 2 })
          const { id } = yield* subscription.reserve({ tokens: 100 }, 3_600)
          yield* TestClock.adjust("50 minutes")
          if (day % 2 === 0) yield* subscription.settle(id, { tokens: 50 })
          else open.push(id)
          yield* TestClock.adjust("30 hours")
        }
        yield* TestClock.adjust("25 days")
      }
      yield* subscription.reserve({ tokens: 5 })
      const total = sum(yield* totals({ from: "2027-03-01T00:00:00Z" }), "tokens")
      assert.strictEqual(total, 5 * 4 * 2 + 5 * 2 * 50)
      yield* subscription.remove
      yield* waitForEvents(store)
      assert.deepStrictEqual(yield* summarize, before)
      assert.strictEqual(sum(yield* totals({ from: "2027-03-01T00:00:00Z" }), "tokens"), total)
      for (const operation of [
        subscription.settle(open[0] ?? ""),
        subscription.release(open[0] ?? ""),
        subscription.reserve({ tokens: 1 }),
        subscription.series()
      ]) {
        assert.strictEqual(yield* getTag<unknown>(operation), "SubscriptionNotFound")
      }
    }).pipe(startOn(StoreState.layer(store))(start))
  )

  it.effect("are removed with their subscription although it is in use, all 1,000 of them", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp()
      const here = yield* subscribe()
      const there = yield* (yield* startProcess())(bucketId, here.id)
      yield* Effect.all(
        Array.from({ length: 1_000 }, () => here.reserve({ tokens: 1 }, 3_600)),
        { concurrency: 50 }
      )
      const [, tags] = yield* Effect.all(
        [
          here.remove,
          Effect.all(
            Array.from({ length: 20 }, () => getTag(there.consume({ tokens: 1 }))),
            { concurrency: "unbounded" }
          )
        ],
        { concurrency: "unbounded" }
      )
      assert.isTrue(tags.every((tag) => tag === "Success" || tag === "SubscriptionNotFound"))
      const counters = ["usage", "held"].map((kind) => `${kind}:${here.id}:tokens:${Date.parse(start)}`)
      const read = Effect.flatMap(Store, (store) => store.counters(Partition.forMeteringBucket(bucketId), counters))
      assert.deepStrictEqual(yield* read, [0, 0])
    }).pipe(startAt(start))
  )

  it.effect("are removed with their metering bucket", () =>
    Effect.gen(function* () {
      const { subscribe, removeBucket, totals } = yield* setUp()
      const subscription = yield* subscribe()
      const { id } = yield* subscription.reserve({ tokens: 1 }, 1)
      yield* removeBucket
      for (const operation of [subscription.settle(id), subscription.release(id), subscription.series(), totals()]) {
        assert.strictEqual(yield* getTag<unknown>(operation), "MeteringBucketNotFound")
      }
      yield* TestClock.adjust("1 hour")
      yield* startProcess()
      const state = yield* StoreState
      assert.isFalse(Object.keys(yield* state.snapshot).some((partition) => partition.includes("bckt_")))
    }).pipe(startOn(StoreState.layer(store))(start))
  )
})

describe.each(embeddedStores)("reservations, on %s, whose counters follow the test clock", (_, store) => {
  it.effect("are forgotten a day after their end", () =>
    Effect.gen(function* () {
      const { subscribe } = yield* setUp()
      const subscription = yield* subscribe()
      const settled = yield* subscription.reserve({ tokens: 1 }, 3_600)
      const expired = yield* subscription.reserve({ tokens: 1 }, 3_600)
      const unnoticed = yield* subscription.reserve({ tokens: 1 }, 3_600)
      yield* subscription.settle(settled.id)
      yield* TestClock.adjust("1 hour")
      const getTags = Effect.forEach([settled, expired], ({ id }) => getTag(subscription.release(id)))
      assert.deepStrictEqual(yield* getTags, ["ReservationSettled", "ReservationExpired"])
      yield* TestClock.adjust("22 hours")
      assert.deepStrictEqual(yield* getTags, ["ReservationSettled", "ReservationExpired"])
      // A store may keep a counter for a minute longer.
      yield* TestClock.adjust("61 minutes")
      assert.deepStrictEqual(yield* getTags, ["ReservationNotFound", "ReservationExpired"])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* getTags, ["ReservationNotFound", "ReservationNotFound"])
      assert.strictEqual(yield* getTag(subscription.settle(unnoticed.id)), "ReservationNotFound")
      assert.strictEqual((yield* subscription.usedQuotas)["tokens"], 0)
    }).pipe(startOn(store)(start))
  )
})
