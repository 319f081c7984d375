import { assert, describe, expect, it } from "@effect/vitest"
import { createTollgate } from "@tollgate/core"
import {
  AccountName,
  MeteringBucketName,
  MeteringBuckets,
  Plans,
  type ServiceOptions,
  Subscriptions,
  Tollgate,
  Usage
} from "@tollgate/core/effect"
import { Period } from "@tollgate/core/internal"
import { MemoryStore } from "@tollgate/memory"
import { Partition, Store, type StoreOperations, StoreUnavailable } from "@tollgate/store"
import { StoreState, stateHash } from "@tollgate/store-testkit"
import { eventually, isBackgroundCall } from "@tollgate/testing"
import { Arbitrary, DateTime, Effect, Layer, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { persistDueChanges } from "../src/metering/subscriptions/persistDueChanges.ts"
import { secret } from "./stores.ts"

const acme = AccountName.make("acme")
const parseTimestamp = (text: string) => DateTime.makeUnsafe(text)
const toIso = DateTime.formatIso

const makeServices = (store: StoreOperations, options: Partial<Omit<ServiceOptions, "modules">> = {}) =>
  Tollgate.layer({ secret, ...options }).pipe(Layer.provideMerge(Layer.succeed(Store, store)))

/** The days of a month, from a table. */
const daysIn = (year: number, month: number): number => {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month] ?? 0
}

/** The first `count` period starts from an anchor, computed independently of the implementation. */
const computeBoundaries = (
  year: number,
  month: number,
  day: number,
  step: number,
  count: number
): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, index) => {
    const months = year * 12 + month + index * step
    const [y, m] = [Math.floor(months / 12), months % 12]
    return Date.UTC(y, m, Math.min(day, daysIn(y, m)), 13, 14, 15, 167)
  })

describe("Period", () => {
  const Anchor = Schema.Struct({
    year: Schema.Int.check(Schema.isBetween({ minimum: 1996, maximum: 2030 })),
    month: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 11 })),
    day: Schema.Int.check(Schema.isBetween({ minimum: 28, maximum: 31 })),
    strategy: Schema.Literals(["monthly", "yearly"]),
    within: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
  })

  it.effect("matches an independent calculation over 50 years, for anchors on days 28 to 31", () =>
    Effect.gen(function* () {
      const result = yield* Arbitrary.checkEffect(
        Arbitrary.schema(Anchor),
        ({ year, month, day: anchorDay, strategy, within }) => {
          const day = Math.min(anchorDay, daysIn(year, month))
          const step = strategy === "monthly" ? 1 : 12
          const all = computeBoundaries(year, month, day, step, 50 * (12 / step) + 1)
          const anchor = DateTime.makeUnsafe(all[0] ?? 0)
          return all.slice(0, -1).every((start, index) => {
            const end = all[index + 1] ?? 0
            const inside = start + Math.floor(((end - start - 1) * within) / 1_000_000)
            return [start, inside, end - 1].every((timestamp) => {
              const period = Period.periodAt(anchor, strategy, DateTime.makeUnsafe(timestamp))
              return DateTime.toEpochMillis(period.start) === start && DateTime.toEpochMillis(period.end) === end
            })
          })
        },
        { runs: 300 }
      )
      assert.isUndefined(Arbitrary.formatCheckFailure(result))
    })
  )

  it("starts on the 31st again after a shorter month, and on 29 February in leap years", () => {
    const starts = (anchor: string, strategy: "monthly" | "yearly", ...timestamps: ReadonlyArray<string>) =>
      timestamps.map((timestamp) =>
        toIso(Period.periodAt(parseTimestamp(anchor), strategy, parseTimestamp(timestamp)).start).slice(0, 10)
      )
    assert.deepStrictEqual(
      starts(
        "2026-01-31T00:00:00Z",
        "monthly",
        "2026-02-27T00:00:00Z",
        "2026-02-28T00:00:00Z",
        "2026-03-30T23:59:59Z",
        "2026-03-31T00:00:00Z",
        "2028-02-29T00:00:00Z"
      ),
      ["2026-01-31", "2026-02-28", "2026-02-28", "2026-03-31", "2028-02-29"]
    )
    assert.deepStrictEqual(
      starts(
        "2024-02-29T00:00:00Z",
        "yearly",
        "2025-02-27T00:00:00Z",
        "2025-03-01T00:00:00Z",
        "2028-02-28T23:59:59Z",
        "2028-02-29T00:00:00Z"
      ),
      ["2024-02-29", "2025-02-28", "2027-02-28", "2028-02-29"]
    )
    assert.deepStrictEqual(starts("2026-05-31T00:00:00Z", "monthly", "2026-03-01T00:00:00Z"), ["2026-02-28"])
  })
})

const makeSubscription = (plan: { readonly id: string; readonly planExternalId: string }, fields: object = {}) =>
  ({
    planIds: [plan.id],
    planExternalIds: [plan.planExternalId],
    status: "active",
    type: "periodic",
    renewalStrategy: "monthly",
    region: "us-east1",
    customerKey: "alice",
    subscriptionExternalId: `external-${Math.random()}`,
    customerExternalId: "c",
    ...fields
  }) as Parameters<Subscriptions["Service"]["create"]>[0]["payload"]

type SubscriptionQuery = Parameters<Subscriptions["Service"]["list"]>[0]["query"]

/** Creates a bucket with a plan of 10 requests. */
const setUp = Effect.fnUntraced(function* (fields: object = {}) {
  const bucketId = (yield* (yield* MeteringBuckets).create({ payload: { accountName: acme } })).value.id
  const plan = (yield* (yield* Plans).create({
    params: { bucketId },
    payload: { label: "Plan", planExternalId: "plan", meters: { requests: { max: 10 } }, ...fields }
  })).value
  const subscriptions = yield* Subscriptions
  const subscribe = (fields: object = {}) =>
    subscriptions.create({ params: { bucketId }, payload: makeSubscription(plan, fields) })
  const listSubscriptions = (query: SubscriptionQuery) => subscriptions.list({ params: { bucketId }, query })
  return { bucketId, plan, subscribe, listSubscriptions, subscriptions, usage: yield* Usage }
})

describe("trials", () => {
  it.effect("get their dates from the first plan that has a trial", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2030, 0, 1))
      const { subscribe } = yield* setUp({ trialDays: 14, trialEndStatus: "paused" })
      const { value } = yield* subscribe({ status: "trialing" })
      assert.strictEqual(
        toIso(value.trialStartDate ?? parseTimestamp("2000-01-01T00:00:00Z")),
        "2030-01-01T00:00:00.000Z"
      )
      assert.strictEqual(
        toIso(value.trialEndDate ?? parseTimestamp("2000-01-01T00:00:00Z")),
        "2030-01-15T00:00:00.000Z"
      )
      assert.strictEqual(value.trialEndStatus, "paused")
      const other = yield* subscribe()
      assert.notProperty(other.value, "trialStartDate")
    }).pipe(Effect.provide(makeServices(MemoryStore.open())))
  )

  /** What a background job does within a minute. */
  const endTrials = (bucketId: string) => Effect.flatMap(DateTime.now, (now) => persistDueChanges(bucketId, now))

  it.effect("that have ended make no list write, however many there are", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      let commits = 0
      const counting: StoreOperations = {
        ...store,
        commit: (...args) => {
          if (!isBackgroundCall("commit", args[0], args[1])) commits++
          return store.commit(...args)
        }
      }
      const { bucketId, subscribe } = yield* Effect.provide(setUp(), makeServices(store))
      const trialEndDate = parseTimestamp("1970-01-01T00:00:01Z")
      for (let index = 0; index < 300; index++) yield* subscribe({ status: "trialing", trialEndDate })
      yield* Effect.gen(function* () {
        const service = yield* Subscriptions
        yield* TestClock.adjust("2 seconds")
        commits = 0
        const lists = Array.from({ length: 20 }, () =>
          service.list({ params: { bucketId }, query: { limit: 1000, offset: 0, status: "trialing" } })
        )
        const pages = yield* Effect.all(lists, { concurrency: "unbounded" })
        for (const { data, total } of pages) {
          assert.strictEqual(total, 300)
          assert.isTrue(data.every(({ status }) => status === "active"))
        }
        assert.strictEqual(commits, 0)
      }).pipe(Effect.provide(makeServices(counting, { background: false })))
    })
  )

  it.effect("take what is missing from the plan when an update starts them", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2030, 0, 1))
      const { bucketId, subscribe, subscriptions } = yield* setUp({ trialDays: 14, trialEndStatus: "canceled" })
      const update = Effect.fnUntraced(function* (payload: Parameters<typeof subscriptions.update>[0]["payload"]) {
        const { id: subscriptionId } = (yield* subscribe()).value
        const { value } = yield* subscriptions.update({ params: { bucketId, subscriptionId }, payload })
        return [value.trialEndDate === undefined ? "none" : toIso(value.trialEndDate), value.trialEndStatus]
      })
      const end = "2030-02-01T00:00:00.000Z"
      assert.deepStrictEqual(yield* update({ status: "trialing" }), ["2030-01-15T00:00:00.000Z", "canceled"])
      assert.deepStrictEqual(yield* update({ status: "trialing", trialEndDate: parseTimestamp(end) }), [
        end,
        "canceled"
      ])
      assert.deepStrictEqual(yield* update({ status: "trialing", trialEndDate: null }), ["none", "canceled"])
      assert.deepStrictEqual(yield* update({ status: "past-due" }), ["none", undefined])
    }).pipe(Effect.provide(makeServices(MemoryStore.open())))
  )

  it.effect("and those of a plan lose what an update sets to null", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2030, 0, 1))
      const trial = { trialDays: 14, trialEndStatus: "canceled", isTrialCollectPayment: true }
      const { bucketId, plan, subscribe, subscriptions } = yield* setUp(trial)
      const { value } = yield* subscribe({ status: "trialing" })
      const params = { bucketId, subscriptionId: value.id }
      assert.property(value, "trialEndDate")
      yield* subscriptions.update({ params, payload: { trialEndDate: null } })
      yield* TestClock.adjust("1000 days")
      const unending = (yield* subscriptions.get({ params })).value
      assert.notProperty(unending, "trialEndDate")
      assert.strictEqual(unending.status, "trialing")
      const cleared = { trialDays: null, trialEndStatus: null, isTrialCollectPayment: null }
      const plans = yield* Plans
      const updated = yield* plans.update({ params: { bucketId, planId: plan.id }, payload: cleared })
      assert.doesNotHaveAnyKeys(updated.value, Object.keys(cleared))
      assert.deepStrictEqual((yield* plans.get({ params: { bucketId, planId: plan.id } })).value, updated.value)
    }).pipe(Effect.provide(makeServices(MemoryStore.open())))
  )

  it.effect("or not, the next billing date moves on when it has passed", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2028, 3, 20))
      const { bucketId, subscribe, subscriptions } = yield* setUp()
      const nextBillingCycle = parseTimestamp("2028-05-31T00:00:00Z")
      const { value } = yield* subscribe({ nextBillingCycle })
      const dates: Array<string> = []
      for (const month of [4, 5, 6]) {
        for (const millis of [-1, 0]) {
          // The last day of May, June and July.
          yield* TestClock.setTime(Date.UTC(2028, month + 1, 0) + millis)
          const read = yield* subscriptions.get({ params: { bucketId, subscriptionId: value.id } })
          dates.push(toIso(read.value.nextBillingCycle).slice(0, 10))
        }
      }
      assert.deepStrictEqual(dates, [
        "2028-05-31",
        "2028-06-30",
        "2028-06-30",
        "2028-07-31",
        "2028-07-31",
        "2028-08-31"
      ])
    }).pipe(Effect.provide(makeServices(MemoryStore.open())))
  )

  const trialEnds: ReadonlyArray<readonly [string | undefined, string, boolean]> = [
    ["canceled", "canceled", false],
    ["cancel", "canceled", false],
    ["cancelled", "canceled", false],
    ["paused", "inactive", false],
    ["pause", "inactive", false],
    ["active", "active", true],
    ["whatever", "inactive", false],
    ["a".repeat(300), "inactive", false],
    [undefined, "active", true]
  ]

  for (const [trialEndStatus, statusAfter, canConsume] of trialEnds) {
    it.effect(
      `set the status to ${statusAfter} after the trial if trialEndStatus is ${trialEndStatus?.slice(0, 20)}`,
      () =>
        Effect.gen(function* () {
          yield* TestClock.setTime(Date.UTC(2030, 0, 1))
          const { bucketId, subscribe, listSubscriptions, subscriptions, usage } = yield* setUp()
          const end = {
            trialEndDate: parseTimestamp("2030-01-11T00:00:00Z"),
            ...(trialEndStatus === undefined ? {} : { trialEndStatus })
          }
          const { id } = (yield* subscribe({ status: "trialing", ...end })).value
          const status = Effect.map(
            subscriptions.get({ params: { bucketId, subscriptionId: id } }),
            ({ value }) => value.status
          )
          yield* TestClock.setTime(Date.UTC(2030, 0, 10, 23, 59, 59, 999))
          assert.strictEqual(yield* status, "trialing")
          yield* usage.consumeMeters(bucketId, id, { requests: 1 })
          yield* TestClock.adjust("1 millis")
          assert.strictEqual(yield* status, statusAfter)
          const consumed = yield* Effect.result(usage.consumeMeters(bucketId, id, { requests: 1 }))
          assert.strictEqual(consumed._tag, canConsume ? "Success" : "Failure")
          const page = { limit: 10, offset: 0 }
          assert.strictEqual((yield* listSubscriptions(page)).data[0]?.status, statusAfter)
          // Lists are filtered by the stored status, and show the present one.
          const trialing = yield* listSubscriptions({ ...page, status: "trialing" })
          assert.deepStrictEqual(
            trialing.data.map(({ status }) => status),
            [statusAfter]
          )
          yield* endTrials(bucketId)
          assert.strictEqual((yield* listSubscriptions({ ...page, status: "trialing" })).total, 0)
          assert.strictEqual((yield* listSubscriptions({ ...page, status: statusAfter as "active" })).total, 1)
          const updated = yield* subscriptions.update({
            params: { bucketId, subscriptionId: id },
            payload: { metadata: { seen: true } }
          })
          assert.strictEqual(updated.value.status, statusAfter)
        }).pipe(Effect.provide(makeServices(MemoryStore.open())))
    )
  }

  it.effect("are found after their end without reading trials that have not ended", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      let records = 0
      const counting: StoreOperations = {
        ...store,
        list: (...args) =>
          Effect.tap(store.list(...args), (pages) =>
            Effect.sync(() => {
              for (const page of pages) records += page.records.length
            })
          )
      }
      yield* TestClock.setTime(Date.UTC(2031, 4, 20, 10, 30))
      const { bucketId, subscribe, listSubscriptions } = yield* Effect.provide(setUp(), makeServices(counting))
      const endAll = Effect.provide(endTrials(bucketId), Layer.succeed(Store, counting))
      const trial = (trialEndDate: string) =>
        subscribe({ status: "trialing", trialEndDate: parseTimestamp(trialEndDate) })
      for (let day = 1; day <= 50; day++) yield* trial(`2031-07-${String((day % 28) + 1).padStart(2, "0")}T10:00:00Z`)
      const ended = ["1999-01-01T00:00:00Z", "2030-12-31T23:59:59Z", "2031-04-30T00:00:00Z", "2031-05-19T00:00:00Z"]
      yield* TestClock.setTime(Date.UTC(1999, 0, 1))
      for (const end of [...ended, "2031-05-20T09:59:59Z", "2031-05-20T10:30:00Z"]) yield* trial(end)
      yield* trial("2031-05-20T10:30:01Z")
      yield* TestClock.setTime(Date.UTC(2031, 4, 20, 10, 30))
      const active = { limit: 100, offset: 0, status: "active" } as const
      yield* endAll
      assert.strictEqual((yield* listSubscriptions(active)).total, 6)
      records = 0
      yield* endAll
      // The trial that ends in the current hour: it has not ended, and is the next one.
      assert.isAtMost(records, 2)
      assert.strictEqual((yield* listSubscriptions({ ...active, status: "trialing", limit: 1 })).total, 51)
      yield* TestClock.adjust("1 second")
      yield* endAll
      assert.strictEqual((yield* listSubscriptions(active)).total, 7)
    })
  )

  it.effect("are found after their end behind more than 1,000 trials that end later in the same hour", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2031, 4, 20, 10, 30))
      const { bucketId, subscribe, listSubscriptions } = yield* setUp()
      const trial = (trialEndDate: string) =>
        subscribe({ status: "trialing", trialEndDate: parseTimestamp(trialEndDate) })
      for (let index = 0; index < 1_050; index++) yield* trial("2031-05-20T10:59:00Z")
      yield* trial("2031-05-20T10:31:00Z")
      yield* TestClock.adjust("1 minute")
      yield* endTrials(bucketId)
      const page = { limit: 1, offset: 0 }
      assert.strictEqual((yield* listSubscriptions({ ...page, status: "active" })).total, 1)
      assert.strictEqual((yield* listSubscriptions({ ...page, status: "trialing" })).total, 1_050)
    }).pipe(Effect.provide(makeServices(MemoryStore.open())))
  )

  it.effect("are persisted by several processes concurrently", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const { bucketId, subscribe } = yield* Effect.provide(setUp(), makeServices(store))
      yield* Effect.forEach(Array.from({ length: 30 }), () =>
        subscribe({ status: "trialing", trialEndDate: parseTimestamp("1970-01-01T00:00:01Z") })
      )
      yield* TestClock.adjust("2 seconds")
      const list = Effect.flatMap(Subscriptions, (service) =>
        Effect.andThen(
          endTrials(bucketId),
          service.list({ params: { bucketId }, query: { limit: 5, offset: 0, status: "active" } })
        )
      )
      const processes = [makeServices(store), makeServices(store), makeServices(store)].map((process) =>
        Effect.provide(list, process)
      )
      const totals = (yield* Effect.all(processes, { concurrency: "unbounded" })).map(({ total }) => total)
      assert.deepStrictEqual(totals, [30, 30, 30])
    })
  )
})

describe("quotas", () => {
  it.effect("are exact up to 2^53 - 1, and prorated with decimal arithmetic", () =>
    Effect.gen(function* () {
      const cases = [
        [1_099_511_627_777, undefined, 1_099_511_627_777],
        [Number.MAX_SAFE_INTEGER, undefined, Number.MAX_SAFE_INTEGER],
        [1e300, undefined, Number.MAX_SAFE_INTEGER],
        [10.9, undefined, 10],
        [100, 0.29, 29],
        [1_234_567_890_123, 0.1, 123_456_789_012],
        [Number.MAX_SAFE_INTEGER, 0.5, 4_503_599_627_370_495],
        [3, 1e-7, 0]
      ] as const
      for (const [max, prorate, expected] of cases) {
        const { bucketId, plan, subscriptions, usage } = yield* setUp({ meters: { bytes: { max } } })
        const other = yield* (yield* Plans).create({
          params: { bucketId },
          payload: { label: "Other", planExternalId: "other", meters: { bytes: { max: 1 } } }
        })
        const { id } = (yield* subscriptions.create({ params: { bucketId }, payload: makeSubscription(other.value) }))
          .value
        const patch = { planExternalIds: [plan.planExternalId], ...(prorate === undefined ? {} : { prorate }) }
        yield* subscriptions.update({ params: { bucketId, subscriptionId: id }, payload: patch })
        assert.strictEqual(
          (yield* usage.quotas({ params: { bucketId, subscriptionId: id } })).meters["bytes"]?.max,
          expected
        )
        if (expected === 0) continue
        const full = yield* usage.consumeMeters(bucketId, id, { bytes: expected })
        assert.deepStrictEqual(full.quotas.meters["bytes"], { max: expected, used: expected, remaining: 0 })
        const error = yield* Effect.flip(usage.consumeMeters(bucketId, id, { bytes: 1 }))
        assert.strictEqual(error._tag, "QuotaExceeded")
      }
    }).pipe(Effect.provide(makeServices(MemoryStore.open())))
  )

  it.effect("reset at the end of a period, and proration applies only to its period", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2030, 0, 31))
      const { bucketId, subscribe, subscriptions, usage } = yield* setUp()
      const { id } = (yield* subscribe()).value
      yield* (yield* Plans).create({
        params: { bucketId },
        payload: { label: "Two", planExternalId: "two", meters: { requests: { max: 9 } } }
      })
      yield* usage.consumeMeters(bucketId, id, { requests: 10 })
      const error = yield* Effect.flip(
        usage.consume({
          params: { bucketId, subscriptionId: id },
          headers: { idempotencyKey: "i" },
          payload: { meters: { requests: 1 } }
        })
      )
      assert.deepInclude(error, { _tag: "QuotaExceeded", meter: "requests", max: 10 })
      assert.strictEqual("resetsOn" in error ? toIso(error.resetsOn) : "", "2030-02-28T00:00:00.000Z")
      yield* subscriptions.update({
        params: { bucketId, subscriptionId: id },
        payload: { planExternalIds: ["two"], prorate: 0.5 }
      })
      assert.deepStrictEqual((yield* usage.quotas({ params: { bucketId, subscriptionId: id } })).meters, {
        requests: { max: 4, used: 10, remaining: 0, overage: 6 }
      })
      yield* TestClock.setTime(Date.UTC(2030, 1, 28))
      const next = yield* usage.quotas({ params: { bucketId, subscriptionId: id } })
      assert.deepStrictEqual(next.meters, { requests: { max: 9, used: 0, remaining: 9 } })
      assert.deepStrictEqual(
        [toIso(next.periodStart), toIso(next.resetsOn)],
        ["2030-02-28T00:00:00.000Z", "2030-03-31T00:00:00.000Z"]
      )
      const retried = yield* usage.consume({
        params: { bucketId, subscriptionId: id },
        headers: { idempotencyKey: "i" },
        payload: { meters: { requests: 1 } }
      })
      assert.deepStrictEqual(retried.value.meters, { requests: { max: 9, used: 1, remaining: 8 } })
    }).pipe(Effect.provide(makeServices(MemoryStore.open())))
  )

  it.effect("leave the store unchanged when a request is rejected", () =>
    Effect.gen(function* () {
      const { bucketId, plan, subscribe, subscriptions, usage } = yield* setUp()
      const { id } = (yield* subscribe()).value
      const unpaid = (yield* subscribe({ status: "unpaid" })).value.id
      const before = yield* stateHash
      for (const [target, amounts] of [
        [id, { requests: 11 }],
        [id, { requests: 1, other: 1 }],
        [unpaid, { requests: 1 }]
      ] as const) {
        yield* Effect.flip(
          usage.consume({
            params: { bucketId, subscriptionId: target },
            headers: { idempotencyKey: "i" },
            payload: { meters: amounts }
          })
        )
      }
      yield* Effect.flip(
        subscriptions.create({ params: { bucketId }, payload: makeSubscription({ id: "plan_x", planExternalId: "x" }) })
      )
      yield* Effect.flip((yield* Plans).remove({ params: { bucketId, planId: plan.id } }))
      assert.strictEqual(yield* stateHash, before)
    }).pipe(Effect.provide(Tollgate.layer({ secret }).pipe(Layer.provideMerge(StoreState.layer(MemoryStore.layer)))))
  )
})

describe("what is removed", () => {
  it("leaves no record behind: neither of a customer nor of the position in the log of its account", async () => {
    const store = MemoryStore.open()
    const gate = await createTollgate({ store, secret })
    const acme = gate.account("acme")
    const billing = await acme.meteringBuckets.ensure("billing")
    const readKeys = async () => {
      const keys: Array<string> = []
      for (const partition of [Partition.forMeteringBucket(billing.id), Partition.forEvents("acme")]) {
        const batches = await Effect.runPromise(Stream.runCollect(store.contents.read(partition)))
        keys.push(...batches.flat().flatMap((entry) => (entry._tag === "Record" ? [entry.record.key] : [])))
      }
      return keys
    }
    const count = async (prefix: string) => (await readKeys()).filter((key) => key.startsWith(prefix)).length
    await billing.plans.create({ label: "Pro", planExternalId: "pro", meters: { requests: { max: 10 } } })
    const first = await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
    const second = await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
    await billing.subscriptions.remove(first.id)
    expect(await count("customer/")).toBe(1)
    expect((await billing.usage.consume(second.id, { requests: 1 })).meters["requests"]?.used).toBe(1)
    await billing.subscriptions.remove(second.id)
    expect(await count("customer/")).toBe(0)
    const third = await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
    expect((await billing.usage.consume(third.id, { requests: 1 })).meters["requests"]?.used).toBe(1)
    const isMoved = (keys: ReadonlyArray<string>) =>
      keys.includes(`position/${Partition.forMeteringBucket(billing.id)}`)
    await eventually(async () => expect(isMoved(await readKeys())).toBe(true))
    await acme.meteringBuckets.remove(billing.id)
    expect(isMoved(await readKeys())).toBe(false)
    await gate.close()
  })
})

describe("threshold notifications", () => {
  const waitFor = (check: () => void) => Effect.promise(() => eventually(check))

  it.effect("are sent once for each threshold and period, and again after the maximum has changed", () =>
    Effect.gen(function* () {
      const events: Array<readonly [string, number, number]> = []
      let isFirst = true
      const onQuotaThreshold = ({ meter, threshold, used }: { meter: string; threshold: number; used: number }) => {
        if (isFirst) {
          isFirst = false
          throw new Error("a hook that fails must not affect counting")
        }
        events.push([meter, threshold, used])
      }
      yield* Effect.gen(function* () {
        const { bucketId, plan, subscribe, usage } = yield* setUp()
        const { id } = (yield* subscribe()).value
        yield* usage.consumeMeters(bucketId, id, { requests: 7 })
        assert.deepStrictEqual(events, [])
        yield* usage.consumeMeters(bucketId, id, { requests: 1 })
        yield* usage.consumeMeters(bucketId, id, { requests: 1 })
        yield* waitFor(() => assert.deepStrictEqual(events, [["requests", 0.8, 8]]))
        yield* usage.consumeMeters(bucketId, id, { requests: 1 })
        yield* Effect.flip(usage.consumeMeters(bucketId, id, { requests: 1 }))
        yield* (yield* Plans).update({
          params: { bucketId, planId: plan.id },
          payload: { meters: { requests: { max: 20 } } }
        })
        yield* usage.consumeMeters(bucketId, id, { requests: 6 })
        const ofFirstPeriod: typeof events = [
          ["requests", 0.8, 8],
          ["requests", 1, 10],
          ["requests", 0.8, 16]
        ]
        yield* waitFor(() => assert.deepStrictEqual(events, ofFirstPeriod))
        yield* TestClock.adjust("40 days")
        yield* usage.consumeMeters(bucketId, id, { requests: 20 })
        const ofSecondPeriod: typeof events = [
          ["requests", 0.8, 20],
          ["requests", 1, 20]
        ]
        yield* waitFor(() => assert.deepStrictEqual(events, [...ofFirstPeriod, ...ofSecondPeriod]))
      }).pipe(Effect.provide(makeServices(MemoryStore.open(), { onQuotaThreshold })))
    })
  )

  it.effect("do not affect counting when they fail or hang, and are sent later if the store was unavailable", () =>
    Effect.gen(function* () {
      const events: Array<number> = []
      const store = MemoryStore.open()
      let isFailing = false
      const unreliable: StoreOperations = {
        ...store,
        commit: (partition, changes, idempotency) =>
          isFailing && changes.some((change) => change._tag === "Add" && change.counter.startsWith("told:"))
            ? Effect.fail(storeDown)
            : store.commit(partition, changes, idempotency)
      }
      const onQuotaThreshold = ({ threshold }: { threshold: number }): Promise<void> => {
        events.push(threshold)
        return new Promise(() => undefined)
      }
      yield* Effect.gen(function* () {
        const { bucketId, subscribe, usage } = yield* setUp()
        const { id } = (yield* subscribe()).value
        isFailing = true
        assert.strictEqual(
          (yield* usage.consumeMeters(bucketId, id, { requests: 8 })).quotas.meters["requests"]?.used,
          8
        )
        assert.deepStrictEqual(events, [])
        isFailing = false
        yield* usage.consumeMeters(bucketId, id, { requests: 1 })
        yield* waitFor(() => assert.deepStrictEqual(events, [0.8]))
      }).pipe(Effect.provide(makeServices(unreliable, { onQuotaThreshold })))
    })
  )
})

describe("authorize", () => {
  it("counts against the newest subscription that has all the meters", async () => {
    const { gate, keyBucket, meteringBucket, key, subscribe } = await prepare(MemoryStore.open())
    const meters = { exports: { max: 5 } }
    const addOn = await meteringBucket.plans.create({ label: "Add-on", planExternalId: "add-on", meters })
    await subscribe()
    await subscribe({ planIds: [addOn.id], planExternalIds: ["add-on"] })
    const authorize = (meters: Record<string, number>) =>
      keyBucket.authorize(key, { metering: { meteringBucketId: meteringBucket.id, meters } })
    for (const meter of ["requests", "exports", "requests"]) assert.isTrue((await authorize({ [meter]: 1 })).allowed)
    assert.propertyVal(await authorize({ requests: 1 }), "reason", "over-quota")
    for (const wrong of [{ request: 1 }, { requests: 1, exports: 1 }]) {
      const error = await authorize(wrong).catch((error: unknown) => error)
      assert.propertyVal(error, "_tag", "UnknownMeter")
      assert.match(String(error), /Correct the name or add the meter to a plan/)
    }
    await gate.close()
  })

  it("rejects a metering bucket of another account, also after the owner has used it", async () => {
    const { gate, keyBucket, meteringBucket, key, subscribe } = await prepare(MemoryStore.open())
    const { id } = await subscribe()
    const otherBucket = gate.account("other").keyBucket("b")
    const { apiKeys } = await otherBucket.consumers.create({ name: "alice" }, { withApiKey: true })
    const options = { metering: { meteringBucketId: meteringBucket.id, meters: { requests: 1 } } }
    for (let turn = 1; turn <= 2; turn++) {
      const error = await otherBucket.authorize(apiKeys[0].key ?? "", options).catch((error: unknown) => error)
      assert.propertyVal(error, "_tag", "MeteringBucketNotFound")
      assert.isTrue((await keyBucket.authorize(key, options)).allowed)
      assert.strictEqual((await meteringBucket.usage.quotas(id)).meters["requests"]?.used, turn)
    }
    await gate.close()
  })

  const prepare = async (store: StoreOperations, max = 2) => {
    const gate = await createTollgate({ store, secret })
    const keyBucket = gate.account("acme").keyBucket("b")
    const { apiKeys } = await keyBucket.consumers.create({ name: "alice", tags: { plan: "pro" } }, { withApiKey: true })
    const { id } = await gate.account("acme").meteringBuckets.create()
    const meteringBucket = gate.account("acme").meteringBucket(id)
    const plan = await meteringBucket.plans.create({
      label: "P",
      planExternalId: "p",
      meters: { requests: { max } }
    })
    const subscribe = (fields: object = {}) =>
      meteringBucket.subscriptions.create({
        planIds: [plan.id],
        planExternalIds: ["p"],
        status: "active",
        type: "periodic",
        renewalStrategy: "monthly",
        region: "us-east1",
        customerKey: "alice",
        subscriptionExternalId: `s-${Math.random()}`,
        customerExternalId: "c",
        ...fields
      })
    const key = apiKeys[0].key ?? ""
    const authorize = (value = key) =>
      keyBucket.authorize(value, { metering: { meteringBucketId: id, meters: { requests: 1 } } })
    return { gate, keyBucket, meteringBucket, plan, subscribe, authorize, key }
  }

  it("returns the remaining quota, or the reason for the denial", async () => {
    const { gate, keyBucket, meteringBucket, plan, subscribe, authorize, key } = await prepare(MemoryStore.open())
    const { meteringBuckets } = gate.account("acme")
    assert.deepStrictEqual(await authorize("unknown-but-well-formed"), { allowed: false, reason: "unknown-key" })
    const verified = await keyBucket.authorize(key)
    assert.isTrue(verified.allowed)
    assert.propertyVal(await authorize(), "reason", "no-subscription")
    const first = await subscribe({ status: "canceled" })
    assert.propertyVal(await authorize(), "reason", "subscription-not-active")
    const second = await subscribe()
    const allowed = await authorize()
    assert.deepInclude(allowed, { allowed: true })
    if (!allowed.allowed) return
    assert.deepInclude(allowed.consumer, { name: "alice", tags: { plan: "pro" } })
    assert.deepStrictEqual(allowed.quotas?.meters, { requests: { max: 2, used: 1, remaining: 1 } })
    await authorize()
    const denied = await authorize()
    assert.deepInclude(denied, { allowed: false, reason: "over-quota", meter: "requests", max: 2 })
    assert.strictEqual("resetsOn" in denied ? denied.resetsOn : "", second.nextBillingCycle)
    // Cached entitlements are refreshed after a change of the plan, a newer subscription or a change of status.
    await meteringBucket.plans.update(plan.id, { meters: { requests: { max: 3 } } })
    assert.isTrue((await authorize()).allowed)
    assert.isFalse((await authorize()).allowed)
    const third = await subscribe()
    assert.isTrue((await authorize()).allowed)
    assert.strictEqual((await meteringBucket.usage.quotas(third.id)).meters["requests"]?.used, 1)
    await meteringBucket.subscriptions.update(third.id, { status: "unpaid" })
    assert.isFalse((await authorize()).allowed)
    await meteringBucket.subscriptions.update(first.id, { status: "active" })
    assert.isFalse((await authorize()).allowed, "the newest active subscription is the second, whose quota is used up")
    await meteringBucket.subscriptions.remove(second.id)
    assert.isTrue((await authorize()).allowed, "the newest active subscription is the first")
    // The choice of a cached customer changes with the plans of newer subscriptions.
    await meteringBucket.plans.create({ planExternalId: "addon", meters: { other: { max: 1 } } })
    const fourth = await subscribe({ planIds: undefined, planExternalIds: ["addon"] })
    assert.isTrue((await authorize()).allowed)
    const addon = fourth.planIds[0] ?? ""
    await meteringBucket.plans.update(addon, { meters: { requests: { max: 100 } } })
    assert.isTrue((await authorize()).allowed)
    assert.strictEqual((await meteringBucket.usage.quotas(fourth.id)).meters["requests"]?.used, 1)
    await meteringBucket.subscriptions.remove(fourth.id)
    // Newer canceled subscriptions do not hide it.
    for (let count = 0; count < 25; count++) await subscribe({ status: "canceled" })
    assert.isTrue((await authorize()).allowed)
    for (const wrong of [
      { metring: {} },
      { metering: null },
      { metering: { meteringBucketId: 5, meters: { requests: 1 } } }
    ]) {
      const error = await keyBucket.authorize(key, wrong as never).catch((error: unknown) => error)
      assert.propertyVal(error, "_tag", "InvalidInput")
    }
    for (const id of [5, null, undefined]) {
      assert.propertyVal(
        await meteringBuckets.get(id as never).catch((error: unknown) => error),
        "_tag",
        "InvalidInput"
      )
    }
    await meteringBuckets.remove(meteringBucket.id)
    const error = await authorize().catch((error: unknown) => error)
    assert.propertyVal(error, "_tag", "MeteringBucketNotFound")
    await gate.close()
  })

  it("calls the store twice: once to verify the key, once to count", async () => {
    const calls: Array<string> = []
    const inner = MemoryStore.open()
    const recordingStore = Object.fromEntries(
      Object.entries(inner).map(([name, operation]) => [
        name,
        (...args: ReadonlyArray<never>) => {
          if (!isBackgroundCall(name, args[0] ?? "", args[1])) calls.push(name)
          return (operation as (...args: ReadonlyArray<never>) => unknown)(...args)
        }
      ])
    ) as unknown as StoreOperations
    // So large that no threshold is reached: that would be recorded, once.
    const { gate, subscribe, authorize } = await prepare(recordingStore, 100)
    await subscribe()
    await authorize()
    calls.length = 0
    assert.isTrue((await authorize()).allowed)
    assert.deepStrictEqual(calls, ["getByUniqueKey", "commit"])
    await gate.close()
  })
})

it.effect("returns the current plans of a subscription whose plans change during the read", () =>
  Effect.gen(function* () {
    const store = MemoryStore.open()
    let concurrentChange: Effect.Effect<unknown, unknown> = Effect.void
    const changingStore: StoreOperations = {
      ...store,
      get: (partition, keys) => {
        if (!keys.some((key) => key.startsWith("plan/"))) return store.get(partition, keys)
        const change = concurrentChange
        concurrentChange = Effect.void
        return Effect.andThen(Effect.orDie(change), store.get(partition, keys))
      }
    }
    const { bucketId, plan, subscribe, subscriptions } = yield* Effect.provide(setUp(), makeServices(store))
    const { id } = (yield* subscribe()).value
    yield* Effect.gen(function* () {
      const plans = yield* Plans
      yield* plans.create({
        params: { bucketId },
        payload: { label: "Two", planExternalId: "two", meters: { requests: { max: 1 } } }
      })
      const service = yield* Subscriptions
      concurrentChange = Effect.andThen(
        subscriptions.update({ params: { bucketId, subscriptionId: id }, payload: { planExternalIds: ["two"] } }),
        Effect.provide(
          Effect.flatMap(Plans, (other) => other.remove({ params: { bucketId, planId: plan.id } })),
          makeServices(store)
        )
      )
      assert.deepStrictEqual((yield* service.get({ params: { bucketId, subscriptionId: id } })).value.planExternalIds, [
        "two"
      ])
    }).pipe(Effect.provide(makeServices(changingStore)))
  })
)

const storeDown = new StoreUnavailable({
  operation: "commit",
  problem: "connection lost",
  retryable: true,
  outcome: "not-applied"
})

describe("creating a metering bucket", () => {
  it.effect("leaves no orphaned bucket when it is rejected, fails or is repeated", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const partitions = new Set<string>()
      let isRejecting = false
      const watchedStore: StoreOperations = {
        ...store,
        commit: (partition, changes, idempotency) => {
          if (partition !== Partition.meteringDirectory) partitions.add(partition)
          return isRejecting && partition === Partition.meteringDirectory
            ? Effect.fail(storeDown)
            : store.commit(partition, changes, idempotency)
        }
      }
      yield* Effect.gen(function* () {
        const buckets = yield* MeteringBuckets
        const createOnce = (fields: object = {}) =>
          buckets.create({ headers: { idempotencyKey: "once" }, payload: { accountName: acme, ...fields } })
        const first = yield* createOnce()
        assert.deepStrictEqual((yield* createOnce()).value, first.value)
        assert.strictEqual(
          (yield* Effect.flip(createOnce({ name: MeteringBucketName.make("other") })))._tag,
          "IdempotencyKeyReused"
        )
        isRejecting = true
        yield* Effect.flip(buckets.create({ payload: { accountName: acme } }))
        const roots = yield* Effect.forEach(partitions, (partition) =>
          store.get(partition as Partition.Partition, ["bucket/root"])
        )
        assert.strictEqual(roots.flat().filter((root) => root !== undefined).length, 1)
      }).pipe(Effect.provide(makeServices(watchedStore)))
    })
  )
})

describe("listing metering buckets", () => {
  it.effect("does not fail or wait because a removal of another account is stuck", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const { bucketId } = yield* Effect.provide(setUp(), makeServices(store))
      const stuckStore: StoreOperations = {
        ...store,
        get: (partition, keys) =>
          partition === Partition.forMeteringBucket(bucketId) && isStuck
            ? Effect.fail(storeDown)
            : store.get(partition, keys),
        clear: () => Effect.fail(storeDown)
      }
      let isStuck = false
      yield* Effect.provide(
        Effect.gen(function* () {
          const buckets = yield* MeteringBuckets
          const other = yield* buckets.create({ payload: { accountName: AccountName.make("other") } })
          yield* Effect.flip(buckets.remove({ params: { bucketId } }))
          isStuck = true
          for (const account of [acme, AccountName.make("other"), undefined]) {
            const query = { limit: 10, offset: 0, ...(account === undefined ? {} : { accountName: account }) }
            const { data, total } = yield* buckets.list({ query })
            assert.deepStrictEqual([data, total], account === acme ? [[], 0] : [[other.value], 1])
          }
        }),
        makeServices(stuckStore)
      )
    })
  )
})

describe("removing a metering bucket", () => {
  it.effect("is completed by a second call after a failure at any point", () =>
    Effect.gen(function* () {
      for (let failingCall = 1; failingCall <= 12; failingCall++) {
        const store = MemoryStore.open()
        const { bucketId } = yield* Effect.provide(setUp(), makeServices(store))
        let calls = 0
        const failingStore: StoreOperations = {
          ...store,
          commit: (...args) => (++calls === failingCall ? Effect.fail(storeDown) : store.commit(...args)),
          clear: (...args) => (++calls === failingCall ? Effect.fail(storeDown) : store.clear(...args))
        }
        const remove = Effect.flatMap(MeteringBuckets, (buckets) => buckets.remove({ params: { bucketId } }))
        const first = yield* Effect.result(Effect.provide(remove, makeServices(failingStore)))
        // The background job of the new process may have completed it already.
        const retry = Effect.catchTag(remove, "MeteringBucketNotFound", () => Effect.void)
        if (first._tag === "Failure") yield* Effect.provide(retry, makeServices(store))
        const [plans] = yield* store.list(Partition.forMeteringBucket(bucketId), [
          { indexTerms: ["plan"], offset: 0, limit: 0 }
        ])
        assert.strictEqual(plans?.total, 0)
        const { total } = yield* Effect.provide(
          Effect.flatMap(MeteringBuckets, (buckets) =>
            buckets.list({ query: { accountName: acme, limit: 1, offset: 0 } })
          ),
          makeServices(store)
        )
        assert.strictEqual(total, 0)
      }
    })
  )

  it.effect("is completed in the background after a failure at any point, and the bucket is never partly visible", () =>
    Effect.gen(function* () {
      for (let failingCall = 1; failingCall <= 12; failingCall++) {
        const store = MemoryStore.open()
        const { bucketId } = yield* Effect.provide(
          Effect.gen(function* () {
            const setup = yield* setUp()
            yield* setup.subscribe()
            return setup
          }),
          makeServices(store)
        )
        let calls = 0
        const failingStore = Object.fromEntries(
          Object.entries(store).map(([name, operation]) => [
            name,
            (...args: ReadonlyArray<never>) =>
              ++calls >= failingCall
                ? Effect.fail(storeDown)
                : (operation as (...args: ReadonlyArray<never>) => unknown)(...args)
          ])
        ) as unknown as StoreOperations
        const removed = yield* Effect.result(
          Effect.provide(
            Effect.flatMap(MeteringBuckets, (buckets) => buckets.remove({ params: { bucketId } })),
            makeServices(failingStore)
          )
        )
        const [listed, read, pending] = yield* Effect.provide(
          Effect.gen(function* () {
            const buckets = yield* MeteringBuckets
            const { total } = yield* buckets.list({ query: { accountName: acme, limit: 10, offset: 0 } })
            const read = yield* Effect.result(buckets.get({ params: { bucketId } }))
            const pendingRemovals = store.list(Partition.meteringDirectory, [
              { indexTerms: ["listing/deleting"], offset: 0, limit: 0 }
            ])
            yield* TestClock.adjust("2 minutes")
            yield* Effect.promise(() =>
              eventually(async () => assert.strictEqual((await Effect.runPromise(pendingRemovals))[0]?.total, 0))
            )
            return [total, read, (yield* pendingRemovals)[0]?.total] as const
          }),
          makeServices(store)
        )
        assert.strictEqual(pending, 0, `failure at call ${failingCall}: no removal is pending`)
        assert.strictEqual(
          listed === 1,
          read._tag === "Success",
          `failure at call ${failingCall}: listed ${listed}, ${read._tag}`
        )
        if (removed._tag === "Success") assert.strictEqual(listed, 0)
        const [root] = yield* store.get(Partition.forMeteringBucket(bucketId), ["bucket/root"])
        const secondRemoval = yield* Effect.result(
          Effect.provide(
            Effect.flatMap(MeteringBuckets, (buckets) => buckets.remove({ params: { bucketId } })),
            makeServices(store)
          )
        )
        assert.strictEqual(
          secondRemoval._tag === "Success",
          root !== undefined,
          "a removed bucket cannot be removed twice"
        )
      }
    })
  )
})
