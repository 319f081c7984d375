/**
 * New subscriptions that continue the usage of one that was canceled in its present period.
 */
import { assert, describe, it } from "@effect/vitest"
import { Customers, Subscriptions } from "@tollgate/core/effect"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { stores } from "./stores.ts"
import { setTime, setUp, startOn, startProcess, sum } from "./usageServices.ts"

describe.each(stores)("a subscription with continueUsage, on %s", (_, store) => {
  const startAt = startOn(store)
  const open = Effect.fnUntraced(function* () {
    const bucket = yield* setUp({ requests: 10, tokens: 100 })
    yield* bucket.updatePlan({
      meters: {
        requests: { max: 10 },
        tokens: { max: 100 },
        seats: { max: 5, period: "none" },
        calls: { max: 9, period: "day" }
      },
      rateLimits: {}
    })
    const subscriptions = yield* Subscriptions
    const get = (subscriptionId: string) =>
      Effect.map(subscriptions.get({ params: { bucketId: bucket.bucketId, subscriptionId } }), ({ value }) => value)
    const cancel = (subscriptionId: string) =>
      subscriptions.update({ params: { bucketId: bucket.bucketId, subscriptionId }, payload: { status: "canceled" } })
    return { ...bucket, get, cancel, continueUsage: () => bucket.subscribe({ continueUsage: true }) }
  })

  it.effect("takes over the periods, the counters and the history", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe, get, cancel, continueUsage, record, totals } = yield* open()
      const first = yield* subscribe()
      yield* first.consume({ requests: 6, seats: 5, calls: 4 })
      yield* setTime("2027-01-20T10:00:00Z")
      yield* first.consume({ requests: 1, calls: 1 })
      yield* cancel(first.id)
      const second = yield* continueUsage()
      assert.notStrictEqual(second.id, first.id)
      const [before, after] = [yield* get(first.id), yield* get(second.id)]
      assert.deepStrictEqual(after.quotaResetAnchor, before.quotaResetAnchor)
      assert.deepStrictEqual(after.nextBillingCycle, before.nextBillingCycle)
      assert.deepStrictEqual(yield* second.usedQuotas, { requests: 7, tokens: 0, seats: 5, calls: 1 })
      assert.strictEqual((yield* second.consume({ requests: 3 }))["requests"]?.remaining, 0)
      for (const meters of [{ requests: 1 }, { seats: 1 }]) {
        assert.strictEqual((yield* Effect.flip(second.consume(meters)))._tag, "QuotaExceeded")
      }
      const other = yield* (yield* startProcess())(bucketId, second.id)
      assert.strictEqual((yield* Effect.flip(other.consume()))._tag, "QuotaExceeded")
      yield* record("alice", { tokens: 2 })
      const reservation = yield* other.reserve({ tokens: 9 })
      yield* second.settle(reservation.id, { tokens: 4 })
      for (const step of ["hour", "day", "period"] as const) {
        const series = yield* second.series(step, step === "period" ? { meter: "requests" } : {})
        if (step !== "hour") assert.strictEqual(sum(series), 10, step)
        assert.deepStrictEqual(yield* first.series(step, step === "period" ? { meter: "requests" } : {}), series)
      }
      assert.strictEqual(sum(yield* second.series("day"), "tokens"), 6)
      assert.strictEqual(sum(yield* totals()), 10)
      const customers = yield* Customers
      const payload = { meter: "requests", amount: -2, reason: "test" }
      yield* customers.adjust({ params: { bucketId, customerKey: "alice" }, payload })
      assert.strictEqual((yield* second.usedQuotas)["requests"], 8)

      yield* setTime("2027-02-15T00:00:00Z")
      assert.deepStrictEqual(yield* second.usedQuotas, { requests: 0, tokens: 0, seats: 5, calls: 0 })
      yield* second.consume()
      // The period is closed.
      yield* setTime("2027-02-20T00:00:00Z")
      yield* second.consume()
      const periods = yield* second.series("period", { meter: "requests", from: "2027-01-15T00:00:00Z" })
      assert.deepStrictEqual(
        periods.data.map(({ meters }) => meters["requests"]),
        [8, 2]
      )
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )

  it.effect("keeps the usage when the other one is removed, and removes it with the last", () =>
    Effect.gen(function* () {
      const { subscribe, cancel, continueUsage } = yield* open()
      const first = yield* subscribe()
      yield* first.consume({ requests: 6 })
      yield* cancel(first.id)
      const second = yield* continueUsage()
      yield* second.consume({ requests: 1 })
      yield* cancel(second.id)
      yield* TestClock.adjust(1)
      const third = yield* continueUsage()
      const held = yield* third.reserve({ requests: 2 })
      yield* first.remove
      yield* second.remove
      assert.strictEqual((yield* third.usedQuotas)["requests"], 9)
      yield* third.settle(held.id, { requests: 1 })
      assert.strictEqual(sum(yield* third.series("day")), 8)
      yield* third.remove
      const fresh = yield* continueUsage()
      assert.strictEqual((yield* fresh.usedQuotas)["requests"], 0)
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )

  it.effect("gives back what was reserved before, under the id that reserved it", () =>
    Effect.gen(function* () {
      const { subscribe, cancel, continueUsage } = yield* open()
      const first = yield* subscribe()
      const [settled] = [yield* first.reserve({ requests: 4 }), yield* first.reserve({ requests: 5 }, 60)]
      yield* cancel(first.id)
      const second = yield* continueUsage()
      assert.strictEqual((yield* second.usedQuotas)["requests"], 9)
      yield* first.settle(settled.id, { requests: 3 })
      assert.strictEqual((yield* second.usedQuotas)["requests"], 8)
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual((yield* second.consume({ requests: 7 }))["requests"]?.used, 10)
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )

  it.effect("starts afresh if none was canceled in its present period, or with other periods", () =>
    Effect.gen(function* () {
      const { subscribe, cancel, continueUsage, get } = yield* open()
      const alone = yield* continueUsage()
      yield* alone.consume()
      const other = yield* continueUsage()
      assert.strictEqual((yield* other.usedQuotas)["requests"], 0)
      yield* cancel(alone.id)
      const yearly = yield* subscribe({ renewalStrategy: "yearly", continueUsage: true })
      assert.strictEqual((yield* yearly.usedQuotas)["requests"], 0)
      yield* setTime("2027-02-15T00:00:00Z")
      const late = yield* continueUsage()
      const anchorOf = (id: string) =>
        Effect.map(get(id), ({ quotaResetAnchor }) => DateTime.formatIso(quotaResetAnchor))
      assert.strictEqual(yield* anchorOf(late.id), "2027-02-15T00:00:00.000Z")
      // An anchor is for those who start afresh.
      const withAnchor = { continueUsage: true, quotaResetAnchor: DateTime.makeUnsafe("2027-02-01T00:00:00Z") }
      assert.strictEqual(yield* anchorOf((yield* subscribe(withAnchor)).id), "2027-02-01T00:00:00.000Z")
      yield* cancel(late.id)
      assert.strictEqual(yield* anchorOf((yield* subscribe(withAnchor)).id), "2027-02-15T00:00:00.000Z")
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )
})
