/**
 * Meters with periods of their own, and soft limits: what is counted when, and what answers say of it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Customers, Plans, Usage } from "@tollgate/core/effect"
import { Store } from "@tollgate/store"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { isBackgroundCall } from "@tollgate/testing"
import { DateTime, Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import { formatRateLimitHeaders } from "../src/rateLimits/rateLimitHeaders.ts"
import { stores } from "./stores.ts"
import { dayMs, hourMs, setTime, setUp, startOn, startProcess, sum, used } from "./usageServices.ts"

type Meters = Parameters<Plans["Service"]["create"]>[0]["payload"]["meters"]

/** A bucket with a plan of these meters, and a subscription to it. */
const subscribeTo = Effect.fnUntraced(function* (
  meters: Meters,
  fields: { readonly quotaResetAnchor?: string; readonly renewalStrategy?: "monthly" | "yearly" } = {}
) {
  const { bucketId, subscribe, record, totals, updatePlan } = yield* setUp()
  const plan = { label: "own", planExternalId: "own", meters }
  const params = { bucketId }
  const { id } = (yield* (yield* Plans).create({ params, payload: plan })).value
  const { quotaResetAnchor, ...rest } = fields
  const subscription = yield* subscribe({
    planIds: [id],
    planExternalIds: ["own"],
    ...(quotaResetAnchor === undefined ? {} : { quotaResetAnchor: DateTime.makeUnsafe(quotaResetAnchor) }),
    ...rest
  } as never)
  const quota = (meter: string) => Effect.map(subscription.quotas, (meters) => meters[meter])
  return { bucketId, id, subscription, record, totals, updatePlan, quota, subscribe }
})

const codeOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(effect), (exit) => {
    if (Exit.isSuccess(exit)) return "success"
    const [reason] = exit.cause.reasons
    return reason?._tag === "Fail" ? (reason.error as { readonly code: string }).code : "defect"
  })

const dates = (start: string, end?: string) => ({
  periodStart: DateTime.makeUnsafe(start),
  ...(end === undefined ? {} : { resetsOn: DateTime.makeUnsafe(end) })
})

/** By period: a time in it, its start, and its end. The anchor is a 31st. */
const boundaries = [
  ["hour", "2027-12-31T23:59:59.999Z", "2027-12-31T23:00:00Z", "2028-01-01T00:00:00Z"],
  ["day", "2028-02-29T00:00:00.000Z", "2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z"],
  ["week", "2028-01-01T12:00:00.000Z", "2027-12-27T00:00:00Z", "2028-01-03T00:00:00Z"],
  ["week", "2028-01-03T00:00:00.000Z", "2028-01-03T00:00:00Z", "2028-01-10T00:00:00Z"],
  ["month", "2028-02-29T10:17:23.455Z", "2028-01-31T10:17:23.456Z", "2028-02-29T10:17:23.456Z"],
  ["month", "2028-02-29T10:17:23.456Z", "2028-02-29T10:17:23.456Z", "2028-03-31T10:17:23.456Z"],
  ["none", "2028-02-29T00:00:00.000Z", "2027-12-31T20:00:00Z", undefined]
] as const

describe.each(stores)("a meter with a period of its own, on %s", (_, store) => {
  const startAt = startOn(store)

  it.effect.each(boundaries)("starts at 0 with each %s, at %s", ([period, time, start, end]) =>
    Effect.gen(function* () {
      const anchor = { quotaResetAnchor: "2027-01-31T10:17:23.456Z", renewalStrategy: "yearly" } as const
      const { subscription, quota } = yield* subscribeTo({ calls: { max: 5, period }, requests: { max: 100 } }, anchor)
      yield* subscription.consume({ calls: 1, requests: 1 })
      yield* setTime(time)
      yield* subscription.consume({ calls: 2, requests: 2 })
      const before =
        period === "none" || DateTime.toEpochMillis(DateTime.makeUnsafe(start)) <= Date.parse("2027-12-31T20:00:00Z")
      const calls = before ? 3 : 2
      assert.deepStrictEqual(yield* quota("calls"), { max: 5, used: calls, remaining: 5 - calls, ...dates(start, end) })
      assert.isUndefined((yield* quota("requests"))?.periodStart)
      if (end === undefined) return
      yield* setTime(end)
      assert.deepInclude(yield* subscription.consume({ calls: 4 }), {
        calls: yield* quota("calls")
      })
      assert.deepInclude(yield* quota("calls"), { used: 4, periodStart: DateTime.makeUnsafe(end) })
    }).pipe(startAt("2027-12-31T20:00:00Z"))
  )

  it.effect("that is that of the subscription is no other", () =>
    Effect.gen(function* () {
      const { subscription, quota, bucketId } = yield* subscribeTo({ requests: { max: 5, period: "month" } })
      yield* subscription.consume({ requests: 2 })
      assert.deepStrictEqual(yield* quota("requests"), { max: 5, used: 2, remaining: 3 })
      const params = { bucketId, subscriptionId: subscription.id }
      // A plan without the period keeps the counter.
      yield* (yield* Plans).create({
        params: { bucketId },
        payload: { label: "other", planExternalId: "other", meters: { requests: { max: 7 } } }
      })
      yield* subscription.update({ planExternalIds: ["other"] })
      assert.deepStrictEqual(yield* quota("requests"), { max: 7, used: 2, remaining: 5 })
      assert.strictEqual((yield* (yield* Usage).quotas({ params })).meters["requests"]?.used, 2)
    }).pipe(startAt("2027-01-31T10:00:00Z"))
  )

  it.effect("starts at 0 when the plan changes to another, and is where it was when it changes back", () =>
    Effect.gen(function* () {
      const { subscription, quota, bucketId } = yield* subscribeTo({ requests: { max: 5, period: "day" } })
      yield* subscription.consume({ requests: 3 })
      yield* (yield* Plans).create({
        params: { bucketId },
        payload: { label: "weekly", planExternalId: "weekly", meters: { requests: { max: 9, period: "week" } } }
      })
      yield* subscription.update({ planExternalIds: ["weekly"], prorate: 0.5 })
      // Only the period of the subscription is prorated.
      assert.deepInclude(yield* quota("requests"), { max: 9, used: 0 })
      yield* subscription.consume({ requests: 4 })
      yield* subscription.update({ planExternalIds: ["own"] })
      assert.deepInclude(yield* quota("requests"), { max: 5, used: 3 })
      assert.strictEqual(sum(yield* subscription.series("day")), 7)
    }).pipe(startAt("2027-01-31T10:00:00Z"))
  )

  it.effect("cannot change while the plan has subscriptions, nor differ among the plans of one", () =>
    Effect.gen(function* () {
      const { subscription, bucketId, id } = yield* subscribeTo({ requests: { max: 5, period: "day" } })
      const plans = yield* Plans
      const update = (meters: Meters) => plans.update({ params: { bucketId, planId: id }, payload: { meters } })
      assert.strictEqual(yield* codeOf(update({ requests: { max: 5, period: "hour" } })), "plan-in-use")
      assert.strictEqual(yield* codeOf(update({ requests: { max: 5 } })), "plan-in-use")
      yield* update({ requests: { max: 6, period: "day" }, more: { max: 1, period: "week" } })
      // Nor when a meter is removed and returns.
      yield* update({ more: { max: 1, period: "week" } })
      yield* update({ other: { max: 1 } })
      for (const meters of [{ requests: { max: 5 } }, { requests: { max: 5, period: "hour" } }, { more: { max: 1 } }]) {
        assert.strictEqual(yield* codeOf(update(meters as Meters)), "plan-in-use")
      }
      const { value: plan } = yield* plans.get({ params: { bucketId, planId: id } })
      assert.notProperty(plan, "formerPeriods")
      yield* update({ requests: { max: 6, period: "day" }, more: { max: 1, period: "week" } })
      const create = (planExternalId: string, period?: "day" | "month") =>
        plans.create({
          params: { bucketId },
          payload: {
            label: planExternalId,
            planExternalId,
            meters: { requests: { max: 10, ...(period === undefined ? {} : { period }) } }
          }
        })
      yield* create("daily", "day")
      const { value } = yield* create("monthly", "month")
      const conflicting = subscription.update({ planExternalIds: ["own", "monthly"] })
      assert.strictEqual(yield* codeOf(conflicting), "conflicting-periods")
      yield* subscription.update({ planExternalIds: ["own", "daily"] })
      assert.deepInclude((yield* subscription.quotas)["requests"], { max: 16 })
      // Without subscriptions it can change.
      yield* plans.update({
        params: { bucketId, planId: value.id },
        payload: { meters: { requests: { max: 10, period: "hour" } } }
      })
    }).pipe(startAt("2027-01-31T10:00:00Z"))
  )

  it.effect("says when it resets, in headers and errors; one that never ends does not", () =>
    Effect.gen(function* () {
      const { subscription, bucketId } = yield* subscribeTo({
        hourly: { max: 2, period: "hour" },
        once: { max: 2, period: "none" }
      })
      const params = { bucketId, subscriptionId: subscription.id }
      const usage = yield* Usage
      const { policies } = yield* usage.consume({ params, payload: { meters: { hourly: 1, once: 1 } } })
      assert.deepStrictEqual(formatRateLimitHeaders(policies), {
        "ratelimit-policy": '"hourly";q=2;w=3600, "once";q=2',
        ratelimit: '"hourly";r=1;t=2700, "once";r=1'
      })
      const refuse = (meter: string) => Effect.flip(usage.consume({ params, payload: { meters: { [meter]: 2 } } }))
      const [hourly, once] = [yield* refuse("hourly"), yield* refuse("once")]
      assert.deepInclude(hourly, { code: "quota-exceeded", max: 2 })
      assert.propertyVal(
        "resetsOn" in hourly ? hourly : {},
        "resetsOn",
        hourly._tag === "QuotaExceeded" ? hourly.resetsOn : ""
      )
      assert.strictEqual(
        hourly._tag === "QuotaExceeded" && hourly.resetsOn && DateTime.formatIso(hourly.resetsOn),
        "2027-01-31T11:00:00.000Z"
      )
      assert.notProperty(once, "resetsOn")
      yield* TestClock.adjust(40 * dayMs)
      assert.deepInclude(yield* refuse("once"), { code: "quota-exceeded" })
    }).pipe(startAt("2027-01-31T10:15:00Z"))
  )

  it.effect("has a history of its own, of which the last 400 are kept", () =>
    Effect.gen(function* () {
      const { subscription } = yield* subscribeTo({
        daily: { max: 1e9, period: "day" },
        once: { max: 1e9, period: "none" },
        requests: { max: 1e9 }
      })
      for (const amount of [1, 2, 3]) {
        yield* subscription.consume({ daily: amount, once: amount, requests: amount })
        yield* TestClock.adjust(dayMs)
      }
      assert.deepStrictEqual(used(yield* subscription.series("period", { meter: "daily" })), {
        "2027-01-30T00:00": { daily: 1 },
        "2027-01-31T00:00": { daily: 2 },
        "2027-02-01T00:00": { daily: 3 }
      })
      assert.strictEqual(sum(yield* subscription.series("period", { meter: "requests" })), 6)
      assert.strictEqual(yield* codeOf(subscription.series("period")), "bad-request")
      assert.strictEqual(yield* codeOf(subscription.series("period", { meter: "once" })), "bad-request")
      assert.strictEqual(sum(yield* subscription.series("day", { meter: "once" }), "once"), 6)
      yield* TestClock.adjust(400 * dayMs)
      yield* subscription.consume({ daily: 4 })
      yield* TestClock.adjust(3 * dayMs)
      yield* subscription.consume({ daily: 5 })
      const all = yield* subscription.series("period", { meter: "daily", from: "2027-01-01T00:00:00Z" })
      assert.strictEqual(all.data.length, 401)
      assert.strictEqual(sum(all, "daily"), 9)
    }).pipe(startAt("2027-01-30T10:15:00Z"))
  )

  it.effect("keeps a reservation in the period in which it was made", () =>
    Effect.gen(function* () {
      const { subscription, quota } = yield* subscribeTo({ calls: { max: 10, period: "hour" }, requests: { max: 100 } })
      const reserved = yield* subscription.reserve({ calls: 8, requests: 8 }, 3_600)
      assert.deepInclude(reserved.quotas.meters["calls"], {
        used: 8,
        ...dates("2027-01-31T10:00:00Z", "2027-01-31T11:00:00Z")
      })
      yield* TestClock.adjust(hourMs / 2)
      assert.deepInclude(yield* subscription.consume({ calls: 10 }), { calls: yield* quota("calls") })
      const settled = yield* subscription.settle(reserved.id, { calls: 3, requests: 5 }, "settle")
      assert.deepInclude(settled["calls"], { used: 3, ...dates("2027-01-31T10:00:00Z", "2027-01-31T11:00:00Z") })
      assert.deepStrictEqual(yield* subscription.settle(reserved.id, { calls: 3, requests: 5 }, "settle"), settled)
      assert.deepStrictEqual(used(yield* subscription.series("period", { meter: "calls" })), {
        "2027-01-31T10:00": { calls: 3 },
        "2027-01-31T11:00": { calls: 10 }
      })
      assert.strictEqual(sum(yield* subscription.series("period", { meter: "requests" })), 5)
      const expired = yield* subscription.reserve({ requests: 1 }, 1)
      yield* TestClock.adjust(hourMs)
      assert.strictEqual(yield* codeOf(subscription.settle(expired.id)), "reservation-expired")
      assert.deepInclude(yield* quota("calls"), { used: 0 })
    }).pipe(startAt("2027-01-31T10:45:00Z"))
  )

  it.effect("counts in the earlier period by a clock that is behind", () =>
    Effect.gen(function* () {
      const { bucketId, subscription, quota } = yield* subscribeTo({ calls: { max: 3, period: "day" } })
      const behind = yield* (yield* startProcess(-2 * hourMs))(bucketId, subscription.id)
      yield* subscription.consume({ calls: 2 })
      assert.deepInclude((yield* behind.consume({ calls: 3 }))["calls"], {
        used: 3,
        periodStart: DateTime.makeUnsafe("2028-02-28T00:00:00Z")
      })
      assert.strictEqual(yield* codeOf(behind.consume({ calls: 1 })), "quota-exceeded")
      assert.deepInclude(yield* quota("calls"), { used: 2 })
      yield* TestClock.adjust(5 * dayMs)
      yield* subscription.consume({ calls: 1 })
      assert.strictEqual(sum(yield* subscription.series("period", { meter: "calls" }), "calls"), 6)
      assert.strictEqual(sum(yield* subscription.series("day"), "calls"), 6)
    }).pipe(startAt("2028-02-29T01:00:00Z"))
  )

  it.effect("is closed with all that a slow process counts in it meanwhile", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const faulty = makeFaultyStore(store, isBackgroundCall)
      const start = yield* Effect.provideService(startProcess(), Store, faulty.store)
      const startSlow = yield* startProcess(-6 * hourMs)
      for (let call = 1, isOver = false; !isOver; call++) {
        const { bucketId, subscription } = yield* subscribeTo({ calls: { max: 9, period: "hour" } })
        const [process, slow] = [yield* start(bucketId, subscription.id), yield* startSlow(bucketId, subscription.id)]
        yield* slow.consume({ calls: 2 })
        faulty.injectAt(call, { interleave: Effect.orDie(slow.consume({ calls: 3 })) })
        yield* process.consume({ calls: 1 })
        isOver = faulty.calls() < call
        if (isOver) break
        assert.strictEqual(sum(yield* subscription.series("period", { meter: "calls" }), "calls"), 6, `call ${call}`)
        assert.strictEqual(sum(yield* subscription.series("day"), "calls"), 6, `call ${call}`)
      }
    }).pipe(Effect.scoped, startAt("2028-02-29T07:10:00Z"))
  )

  it.effect("is removed with its subscription", () =>
    Effect.gen(function* () {
      const { subscription, totals } = yield* subscribeTo({
        calls: { max: 3, period: "hour" },
        once: { max: 1, period: "none" }
      })
      yield* subscription.consume({ calls: 2, once: 1 })
      yield* TestClock.adjust(3 * hourMs)
      yield* subscription.consume({ calls: 1 })
      yield* subscription.remove
      assert.strictEqual(sum(yield* totals(), "calls"), 3)
    }).pipe(startAt("2028-02-29T01:00:00Z"))
  )

  it.effect("is adjusted in its present period only", () =>
    Effect.gen(function* () {
      const { bucketId, subscription, quota } = yield* subscribeTo({ calls: { max: 3, period: "hour" } })
      yield* subscription.consume({ calls: 2 })
      const adjust = (amount: number, occurredOn?: string) =>
        Effect.flatMap(Customers, (customers) =>
          customers.adjust({
            params: { bucketId, customerKey: "alice" },
            payload: {
              meter: "calls",
              amount,
              reason: "test",
              ...(occurredOn === undefined ? {} : { occurredOn: DateTime.makeUnsafe(occurredOn) })
            }
          })
        )
      assert.strictEqual(yield* codeOf(adjust(1, "2028-02-29T00:59:59.999Z")), "outside-period")
      assert.deepInclude((yield* adjust(-1, "2028-02-29T01:00:00Z")).meters["calls"], { used: 1 })
      yield* TestClock.adjust(hourMs)
      assert.strictEqual(yield* codeOf(adjust(-1)), "below-zero")
      assert.deepInclude((yield* adjust(3)).meters["calls"], { used: 3, remaining: 0 })
      assert.deepInclude(yield* quota("calls"), { used: 3 })
    }).pipe(startAt("2028-02-29T01:10:00Z"))
  )
})

describe.each(stores)("a soft limit, on %s", (_, store) => {
  const startAt = startOn(store)

  it.effect("counts use above the maximum as overage, without bound or up to one", () =>
    Effect.gen(function* () {
      const { subscription, quota } = yield* subscribeTo({
        soft: { max: 10, isSoftLimit: true },
        bounded: { max: 10, isSoftLimit: true, overageMax: 5 },
        hard: { max: 10 }
      })
      yield* subscription.consume({ soft: 1_000, bounded: 15, hard: 10 })
      assert.deepStrictEqual(yield* quota("soft"), { max: 10, used: 1_000, remaining: 0, overage: 990 })
      assert.deepStrictEqual(yield* quota("bounded"), { max: 10, used: 15, remaining: 0, overage: 5 })
      const refusal = yield* Effect.flip(subscription.consume({ bounded: 1 }))
      assert.deepInclude(refusal, { code: "quota-exceeded", meter: "bounded", max: 15 })
      assert.strictEqual(yield* codeOf(subscription.reserve({ hard: 1 })), "quota-exceeded")
      const reserved = yield* subscription.reserve({ soft: 5 })
      assert.deepInclude((yield* subscription.settle(reserved.id, { soft: 2 }))["soft"], { used: 1_002, overage: 992 })
    }).pipe(startAt("2027-01-31T10:00:00Z"))
  )

  it.effect("is soft if one plan says so; what plans allow is added", () =>
    Effect.gen(function* () {
      const { subscription, quota, bucketId } = yield* subscribeTo({ calls: { max: 10 } })
      const plans = yield* Plans
      const create = (planExternalId: string, overageMax?: number) =>
        plans.create({
          params: { bucketId },
          payload: {
            label: planExternalId,
            planExternalId,
            meters: { calls: { max: 1, isSoftLimit: true, ...(overageMax === undefined ? {} : { overageMax }) } }
          }
        })
      yield* create("two", 2)
      yield* create("three", 3.9)
      yield* create("any")
      yield* subscription.update({ planExternalIds: ["own", "two", "three"] })
      yield* subscription.consume({ calls: 17 })
      assert.deepStrictEqual(yield* quota("calls"), { max: 12, used: 17, remaining: 0, overage: 5 })
      assert.strictEqual(yield* codeOf(subscription.consume({ calls: 1 })), "quota-exceeded")
      yield* subscription.update({ planExternalIds: ["own", "two", "any"] })
      yield* subscription.consume({ calls: 1_000_000 })
    }).pipe(startAt("2027-01-31T10:00:00Z"))
  )
})
