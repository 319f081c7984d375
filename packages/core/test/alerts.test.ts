/**
 * Alerts of a customer: what triggers each kind, how often, and what no count notices.
 */
import { assert, describe, it } from "@effect/vitest"
import { Customers, Grants, Reservations } from "@tollgate/core/effect"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { sweepAlerts } from "../src/metering/alerts/sweepAlerts.ts"
import { readAlertEvents, readTriggered, useAlerts } from "./alertServices.ts"
import { stores } from "./stores.ts"
import { setTime, setUp, startOn, startProcess } from "./usageServices.ts"

const start = "2027-03-14T09:30:00Z"
const anchor = { quotaResetAnchor: DateTime.makeUnsafe(start) }
const sweep = (bucketId: string) => Effect.flatMap(DateTime.now, (now) => sweepAlerts(bucketId, now))

describe.each(stores)("an alert of a customer, on %s", (_, store) => {
  const startAt = startOn(store)

  it.effect("is triggered once in a period by a share, an amount and overage, however many processes count", () =>
    Effect.gen(function* () {
      const { bucketId, createPlanWith, subscribe } = yield* setUp()
      const soft = yield* createPlanWith("soft", { requests: { max: 10, isSoftLimit: true } })
      const alerts = yield* useAlerts(bucketId)
      const here = yield* subscribe({ planIds: [soft.id], planExternalIds: ["soft"], ...anchor })
      const there = yield* (yield* startProcess())(bucketId, here.id)
      for (const when of [{ usedShare: 0.75 }, { usedShare: 1.5 }, { used: 3 }, { overage: 2 }]) {
        yield* alerts.create("requests", when)
      }
      const all = [{ usedShare: 0.75 }, { usedShare: 1.5 }, { used: 3 }, { overage: 2 }]
      for (const month of ["03", "04"]) {
        yield* setTime(`2027-${month}-14T09:30:00Z`)
        const consumptions = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? here : there).consume())
        yield* Effect.all(consumptions, { concurrency: "unbounded" })
        const events = (yield* readAlertEvents).filter(
          ({ type, data }) => type === "alert.triggered" && String(data["periodStart"]).startsWith(`2027-${month}`)
        )
        const sort = (conditions: ReadonlyArray<unknown>) => conditions.map((when) => JSON.stringify(when)).sort()
        assert.deepStrictEqual(sort(events.map(({ data }) => data["when"])), sort(all))
        const [{ id } = { id: "" }] = (yield* alerts.list()).data
        const event = events.find(({ subject }) => subject.id === id)
        assert.deepStrictEqual(event?.subject, { type: "alert", id, name: "alice" })
        assert.deepStrictEqual(event?.actor, { type: "system" })
        assert.deepInclude(event?.data, {
          meteringBucketId: bucketId,
          subscriptionId: here.id,
          meter: "requests",
          max: 10
        })
        assert.strictEqual(event?.data["resetsOn"], `2027-0${Number(month) + 1}-14T09:30:00.000Z`)
      }
      assert.isTrue((yield* alerts.list()).data.every(({ lastTriggeredOn }) => lastTriggeredOn !== undefined))
    }).pipe(startAt(start))
  )

  it.effect("for what remains is triggered when it falls, and again only after more remained", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe, adjust, setMaxima } = yield* setUp({ requests: 10 })
      const alerts = yield* useAlerts(bucketId)
      const { consume } = yield* subscribe(anchor)
      yield* alerts.create("requests", { remaining: 3 })
      const expected: Array<Array<number>> = []
      const check = Effect.gen(function* () {
        const found = (yield* readTriggered).map(([, , used, remaining]) => [used, remaining])
        assert.deepStrictEqual<unknown>(found, expected)
      })
      yield* consume({ requests: 6 })
      yield* check
      yield* consume({ requests: 2 })
      yield* consume({ requests: 1 })
      expected.push([8, 2])
      yield* check
      // Little more is not enough.
      yield* adjust("alice", "requests", -1, Date.parse(start))
      yield* consume({ requests: 1 })
      yield* check
      yield* adjust("alice", "requests", -5, Date.parse(start))
      yield* consume({ requests: 6 })
      expected.push([10, 0])
      yield* check
      const params = { bucketId, customerKey: "alice" }
      yield* (yield* Grants).create({ params, payload: { meter: "requests", amount: 5 } })
      yield* consume({ requests: 5 })
      expected.push([15, 0])
      yield* check
      yield* setMaxima({ requests: 14 })
      yield* consume({ requests: 1 })
      expected.push([16, 3])
      yield* check
      // In the next period everything remains at first. A month later, the events from before are not kept any more.
      yield* setTime("2027-04-15T00:00:00Z")
      yield* consume({ requests: 14 })
      assert.deepStrictEqual((yield* readTriggered).at(-1), ["requests", { remaining: 3 }, 14, 0])
    }).pipe(startAt(start))
  )

  it.effect("that is reached when it is made is triggered at once, unless it is for what remains", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp({ requests: 10 })
      const alerts = yield* useAlerts(bucketId)
      const { consume } = yield* subscribe(anchor)
      yield* consume({ requests: 9 })
      yield* alerts.create("requests", { used: 5 })
      yield* alerts.create("requests", { remaining: 5 })
      assert.deepStrictEqual(yield* readTriggered, [["requests", { used: 5 }, 9, 1]])
      yield* consume()
      assert.lengthOf(yield* readTriggered, 1)
    }).pipe(startAt(start))
  )

  it.effect("waits for a subscription, and is of the newest that has the meter", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp({ requests: 10 })
      const alerts = yield* useAlerts(bucketId)
      yield* alerts.create("requests", { used: 5 })
      yield* sweep(bucketId)
      const older = yield* subscribe(anchor)
      yield* TestClock.adjust("1 second")
      const newest = yield* subscribe(anchor)
      yield* older.consume({ requests: 6 })
      assert.deepStrictEqual(yield* readTriggered, [])
      yield* newest.consume({ requests: 5 })
      yield* sweep(bucketId)
      assert.deepStrictEqual(yield* readTriggered, [["requests", { used: 5 }, 5, 5]])
    }).pipe(startAt(start))
  )

  it.effect("is triggered by what was reserved when it is settled", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp({ requests: 100 })
      const alerts = yield* useAlerts(bucketId)
      const { reserve, settle, release } = yield* subscribe(anchor)
      yield* alerts.create("requests", { used: 50 })
      yield* alerts.create("requests", { remaining: 40 })
      const given = yield* reserve({ requests: 90 })
      yield* release(given.id)
      const used = yield* reserve({ requests: 80 })
      assert.deepStrictEqual(yield* readTriggered, [])
      yield* settle(used.id, { requests: 70 })
      assert.deepStrictEqual(yield* readTriggered, [
        ["requests", { used: 50 }, 70, 30],
        ["requests", { remaining: 40 }, 70, 30]
      ])
    }).pipe(startAt(start))
  )

  it.effect("is triggered by a request that is charged for its success", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp({ requests: 100 })
      yield* subscribe(anchor)
      yield* (yield* useAlerts(bucketId)).create("requests", { used: 50 })
      const { reserveForCustomer, settleRequest } = yield* Reservations
      const result = yield* reserveForCustomer("acme", bucketId, "alice", {
        amounts: { requests: 60 },
        rateLimitTakes: []
      })
      assert.deepStrictEqual(yield* readTriggered, [])
      if (typeof result === "string" || result.reservation === undefined) return assert.fail("not reserved")
      yield* settleRequest(bucketId, result.reservation, { requests: 60 })
      assert.deepStrictEqual(yield* readTriggered, [["requests", { used: 50 }, 60, 40]])
    }).pipe(startAt(start))
  )

  it.effect(
    "has the period of its meter, and is not triggered again by a subscription that goes on in the same period",
    () =>
      Effect.gen(function* () {
        const { bucketId, createPlanWith, subscribe } = yield* setUp()
        const [customers, alerts] = [yield* Customers, yield* useAlerts(bucketId)]
        const plan = yield* createPlanWith("daily", {
          requests: { max: 10, period: "day" },
          tokens: { max: 10, period: "none" },
          pages: { max: 10 }
        })
        yield* subscribe({ planIds: [plan.id], planExternalIds: ["daily"], ...anchor })
        for (const meter of ["requests", "tokens", "pages"]) yield* alerts.create(meter, { used: 5 })
        const params = { bucketId, customerKey: "alice" }
        const useAll = customers.consume({ params, payload: { meters: { requests: 5, tokens: 5, pages: 5 } } })
        yield* useAll
        yield* customers.cancel({ params, payload: { at: "now" } })
        yield* customers.changePlan({ params, payload: { planExternalIds: ["daily"], at: "now" } })
        yield* useAll
        assert.deepStrictEqual((yield* readTriggered).map(([meter]) => meter).sort(), ["pages", "requests", "tokens"])
        yield* setTime("2027-03-15T00:00:00Z")
        yield* customers.consume({ params, payload: { meters: { requests: 5 } } })
        assert.deepStrictEqual((yield* readTriggered).map(([meter]) => meter).sort(), [
          "pages",
          "requests",
          "requests",
          "tokens"
        ])
        const [event] = (yield* readAlertEvents).filter(({ data }) => data["meter"] === "tokens" && "used" in data)
        assert.notProperty(event?.data, "resetsOn")
      }).pipe(startAt(start))
  )

  it.effect(
    "is triggered without a count, in the background: by an expired grant, a smaller plan and an override",
    () =>
      Effect.gen(function* () {
        const { bucketId, subscribe, setMaxima } = yield* setUp({ requests: 100 })
        const { consume, update } = yield* subscribe(anchor)
        const alerts = yield* useAlerts(bucketId)
        const params = { bucketId, customerKey: "alice" }
        const expiresOn = DateTime.makeUnsafe("2027-03-14T10:00:00Z")
        yield* (yield* Grants).create({ params, payload: { meter: "requests", amount: 50, expiresOn } })
        yield* consume({ requests: 60 })
        yield* alerts.create("requests", { remaining: 45 })
        yield* alerts.create("requests", { usedShare: 0.7 })
        yield* sweep(bucketId)
        assert.deepStrictEqual(yield* readTriggered, [])
        const awaitTriggered = (count: number) =>
          Effect.andThen(
            TestClock.adjust("5 minutes"),
            Effect.repeat(readTriggered, { until: (triggered) => triggered.length >= count })
          )
        yield* setTime("2027-03-14T10:00:00Z")
        yield* awaitTriggered(1)
        yield* sweep(bucketId)
        const expired = ["requests", { remaining: 45 }, 60, 40]
        assert.deepStrictEqual(yield* readTriggered, [expired])
        yield* setMaxima({ requests: 80 })
        const smaller = ["requests", { usedShare: 0.7 }, 60, 20]
        assert.deepStrictEqual(yield* awaitTriggered(2), [expired, smaller])
        yield* update({ overrides: { meters: { requests: { max: 200 } } } })
        yield* consume({ requests: 1 })
        yield* update({ overrides: { meters: { requests: { max: 100 } } } })
        const overridden = ["requests", { remaining: 45 }, 61, 39]
        assert.deepStrictEqual(yield* awaitTriggered(3), [expired, smaller, overridden])
      }).pipe(startAt(start))
  )

  it.effect("of many customers is looked at in turns", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp({ requests: 10 })
      const customerKeys = Array.from({ length: 103 }, (_, index) => `customer-${index}`)
      for (const customerKey of customerKeys) {
        yield* (yield* useAlerts(bucketId, customerKey)).create("requests", { usedShare: 0.5 })
      }
      const { consume, update } = yield* subscribe({ customerKey: "customer-102" })
      yield* consume({ requests: 3 })
      yield* update({ overrides: { meters: { requests: { max: 6 } } } })
      const now = yield* DateTime.now
      assert.deepStrictEqual(yield* sweep(bucketId), DateTime.add(now, { seconds: 5 }))
      assert.deepStrictEqual(yield* readTriggered, [])
      yield* TestClock.adjust("5 minutes")
      const triggered = yield* Effect.repeat(readTriggered, { until: ({ length }) => length > 0 })
      assert.deepStrictEqual(triggered, [["requests", { usedShare: 0.5 }, 3, 3]])
    }).pipe(startAt(start))
  )
})
