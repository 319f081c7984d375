/**
 * Plans of customers that change now or when the period ends, subscriptions that are canceled, and customers who return.
 */
import { assert, describe, it } from "@effect/vitest"
import { Customers, Plans, Subscriptions, Tollgate, Usage } from "@tollgate/core/effect"
import { Partition } from "@tollgate/store/internal"
import { Clock, DateTime, Effect, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { persistDueChanges } from "../src/metering/subscriptions/persistDueChanges.ts"
import { outboxRecords } from "../src/outbox/outboxRecords.ts"
import { shiftClock } from "./shiftClock.ts"
import { secret, stores } from "./stores.ts"
import { type Amounts, setTime, setUp, startOn } from "./usageServices.ts"

type Input = Parameters<Customers["Service"]["changePlan"]>[0]["payload"]

/** What a process can do for a customer. */
const useCustomer = Effect.fnUntraced(function* (bucketId: string, customerKey: string, clock?: Clock.Clock) {
  const [customers, subscriptions, usage] = [yield* Customers, yield* Subscriptions, yield* Usage]
  const params = { bucketId, customerKey }
  const run = <A, E>(operation: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    clock === undefined ? operation : Effect.provideService(operation, Clock.Clock, clock)
  const toHeaders = (idempotencyKey: string | undefined) =>
    idempotencyKey === undefined ? {} : { headers: { idempotencyKey } }
  return {
    changePlan: (planExternalId: string, fields: Partial<Input> = {}, key?: string) =>
      Effect.map(
        run(
          customers.changePlan({
            params,
            ...toHeaders(key),
            payload: { planExternalIds: [planExternalId], at: "now", ...fields }
          })
        ),
        ({ value }) => value
      ),
    cancel: (at: "now" | "period-end", key?: string) =>
      Effect.map(run(customers.cancel({ params, ...toHeaders(key), payload: { at } })), ({ value }) => value),
    withdraw: run(customers.withdrawPendingChange({ params })),
    get: run(customers.get({ params })),
    consume: (meters: Amounts = { requests: 1 }) =>
      Effect.map(run(customers.consume({ params, payload: { meters } })), ({ value }) => value.meters),
    /** Through the path of a subscription, which has a cache of its own. */
    consumeById: (subscriptionId: string, meters: Amounts = { requests: 1 }) =>
      Effect.map(
        run(usage.consume({ params: { bucketId, subscriptionId }, payload: { meters } })),
        ({ value }) => value.meters
      ),
    subscription: (subscriptionId: string) =>
      Effect.map(run(subscriptions.get({ params: { bucketId, subscriptionId } })), ({ value }) => value),
    update: (subscriptionId: string, payload: Parameters<Subscriptions["Service"]["update"]>[0]["payload"]) =>
      Effect.map(run(subscriptions.update({ params: { bucketId, subscriptionId }, payload })), ({ value }) => value)
  }
})

const codeOf = <A>(operation: Effect.Effect<A, { readonly code?: string } | { readonly _tag: string }>) =>
  Effect.map(Effect.result(operation), (result) =>
    Result.isFailure(result) ? "code" in result.failure && result.failure.code : "succeeded"
  )

/** The types of the events of subscriptions since they were last read. */
const readEvents = Effect.fnUntraced(function* (bucketId: string) {
  const { entries } = yield* outboxRecords.page(Partition.forMeteringBucket(bucketId), { offset: 0, limit: 1_000 })
  return entries.map(({ value }) => value).filter(({ type }) => type.startsWith("subscription."))
})

describe.each(stores)("plan changes, on %s", (_, store) => {
  const startAt = (time: string) => startOn(store)(time, { background: false })
  const open = Effect.fnUntraced(function* (customerKey = "alice") {
    const bucket = yield* setUp({ requests: 10, tokens: 100 })
    yield* bucket.createPlan("pro", { requests: 100, tokens: 1_000 })
    yield* bucket.createPlan("free", { requests: 2 })
    const { bucketId } = bucket
    const persist = Effect.flatMap(DateTime.now, (now) => persistDueChanges(bucketId, now))
    /** The services of another process. */
    const startOther = Effect.fnUntraced(function* (aheadMs = 0) {
      const clock = shiftClock(yield* Clock.Clock, aheadMs)
      const context = yield* Layer.build(Layer.fresh(Tollgate.layer({ secret, background: false })))
      return yield* Effect.provideContext(useCustomer(bucketId, customerKey, clock), context)
    })
    return { ...bucket, persist, startOther, customer: yield* useCustomer(bucketId, customerKey) }
  })
  const iso = DateTime.formatIso

  it.effect("at once keep the usage and the periods, and prorate", () =>
    Effect.gen(function* () {
      const { customer, subscribe } = yield* open()
      const { id } = yield* subscribe()
      yield* customer.consume({ requests: 8 })
      const changed = yield* customer.changePlan("pro")
      assert.deepStrictEqual([changed.id, changed.planExternalIds], [id, ["pro"]])
      assert.strictEqual((yield* customer.consume())["requests"]?.remaining, 91)
      yield* customer.changePlan("plan", { prorate: 0.5 })
      assert.strictEqual(yield* codeOf(customer.consume()), "quota-exceeded")
      // The same plans again change nothing.
      yield* customer.changePlan("plan")
      assert.strictEqual((yield* customer.get).meters["requests"]?.allowance.max, 5)
      yield* setTime("2027-02-15T00:00:00Z")
      assert.strictEqual((yield* customer.get).meters["requests"]?.allowance.max, 10)
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )

  const anchors = [
    ["2027-01-31T10:17:23.456Z", "monthly", "2027-01-31T10:17:23.456Z", "2027-02-28T10:17:23.456Z"],
    ["2027-01-31T10:17:23.456Z", "monthly", "2027-03-30T00:00:00.000Z", "2027-03-31T10:17:23.456Z"],
    ["2027-12-31T00:00:00.000Z", "monthly", "2028-02-01T00:00:00.000Z", "2028-02-29T00:00:00.000Z"],
    ["2024-02-29T23:30:00.000Z", "yearly", "2027-02-28T23:30:00.000Z", "2028-02-29T23:30:00.000Z"],
    ["2024-02-29T23:30:00.000Z", "yearly", "2028-02-29T23:30:00.000Z", "2029-02-28T23:30:00.000Z"]
  ] as const

  for (const [quotaResetAnchor, renewalStrategy, now, boundary] of anchors) {
    it.effect(
      `act exactly at ${boundary}, before a job writes them (${renewalStrategy} from ${quotaResetAnchor})`,
      () =>
        Effect.gen(function* () {
          const { customer, startOther, subscribe, persist } = yield* open()
          const { id } = yield* subscribe({ quotaResetAnchor: DateTime.makeUnsafe(quotaResetAnchor), renewalStrategy })
          const other = yield* startOther()
          for (const process of [customer, other]) {
            yield* process.consume()
            yield* process.consumeById(id)
          }
          const pending = yield* customer.changePlan("pro", { at: "period-end" })
          assert.deepStrictEqual(pending.planExternalIds, ["plan"])
          assert.deepStrictEqual(pending.pendingChange?.planExternalIds, ["pro"])
          assert.strictEqual(pending.pendingChange && iso(pending.pendingChange.effectiveOn), boundary)
          const read = yield* other.get
          assert.deepStrictEqual(read.pendingChange, pending.pendingChange)
          assert.deepStrictEqual(read.subscriptions[0]?.pendingChange, pending.pendingChange)

          yield* setTime(boundary)
          yield* TestClock.adjust(-1)
          for (const process of [customer, other]) {
            assert.strictEqual((yield* process.consume())["requests"]?.max, 10)
            assert.strictEqual((yield* process.consumeById(id))["requests"]?.max, 10)
            assert.property(yield* process.subscription(id), "pendingChange")
          }
          yield* TestClock.adjust(1)
          for (const [index, process] of [customer, other].entries()) {
            const meter = (yield* process.consume())["requests"]
            assert.deepStrictEqual([meter?.max, meter?.used], [100, 2 * index + 1])
            assert.strictEqual((yield* process.consumeById(id))["requests"]?.max, 100)
            const derived = yield* process.subscription(id)
            assert.deepStrictEqual([derived.planExternalIds, derived.pendingChange], [["pro"], undefined])
            assert.notProperty(yield* process.get, "pendingChange")
          }
          const derived = yield* customer.subscription(id)
          yield* persist
          assert.deepStrictEqual(yield* other.subscription(id), derived)
          assert.strictEqual(iso(derived.updatedOn), boundary)
          for (const process of [customer, other]) {
            assert.strictEqual((yield* process.consume())["requests"]?.max, 100)
            assert.strictEqual((yield* process.consumeById(id))["requests"]?.max, 100)
          }
        }).pipe(startAt(now))
    )
  }

  it.effect("to canceled refuse from the end of the period on, also after the clock was set back", () =>
    Effect.gen(function* () {
      const { bucketId, customer, startOther, subscribe, persist } = yield* open()
      const { id } = yield* subscribe()
      const other = yield* startOther()
      yield* other.consume()
      const pending = yield* customer.cancel("period-end")
      assert.deepStrictEqual([pending.status, pending.pendingChange?.status], ["active", "canceled"])
      yield* setTime("2027-02-14T23:59:59.999Z")
      yield* customer.consume()
      yield* setTime("2027-02-15T00:00:00Z")
      for (const process of [customer, other]) {
        assert.strictEqual(yield* codeOf(process.consume()), "subscription-not-active")
        assert.strictEqual(yield* codeOf(process.consumeById(id)), "subscription-not-active")
        assert.strictEqual((yield* process.subscription(id)).status, "canceled")
      }
      yield* TestClock.adjust("1 hour")
      yield* customer.get
      yield* setTime("2027-02-14T23:00:00Z")
      assert.strictEqual(yield* codeOf(customer.consume()), "subscription-not-active")
      yield* setTime("2027-02-15T02:00:00Z")
      yield* persist
      const events = yield* readEvents(bucketId)
      assert.deepStrictEqual(
        events.slice(-2).map(({ type, actor, data }) => [type, actor.type, data["status"], data["updatedOn"]]),
        ["subscription.updated", "subscription.status_changed"].map((type) => [
          type,
          "system",
          "canceled",
          "2027-02-15T00:00:00.000Z"
        ])
      )
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )

  it.effect("are written once, with one event, whoever notices them first", () =>
    Effect.gen(function* () {
      const { bucketId, customer, startOther, subscribe, persist } = yield* open()
      const { id } = yield* subscribe()
      const other = yield* startOther()
      yield* customer.changePlan("pro", { at: "period-end" })
      yield* setTime("2027-02-15T00:00:05Z")
      const before = (yield* readEvents(bucketId)).length
      yield* Effect.all([persist, persist, persist, other.update(id, { metadata: { seen: true } }), persist], {
        concurrency: "unbounded"
      })
      const events = (yield* readEvents(bucketId)).slice(before)
      const byActor = Map.groupBy(events, ({ actor }) => actor.type)
      assert.deepStrictEqual(
        byActor.get("system")?.map(({ type, data }) => [type, data["planExternalIds"]]),
        [["subscription.updated", ["pro"]]]
      )
      assert.strictEqual(events.length, 2)
      yield* persist
      assert.strictEqual((yield* readEvents(bucketId)).length, before + 2)
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )

  it.effect("are one at a time: the last one counts", () =>
    Effect.gen(function* () {
      const { customer, subscribe } = yield* open()
      const { id } = yield* subscribe()
      yield* customer.cancel("period-end")
      yield* customer.changePlan("free", { at: "period-end" })
      const { pendingChange } = yield* customer.changePlan("pro", { at: "period-end" })
      assert.deepStrictEqual([pendingChange?.planExternalIds, pendingChange?.status], [["pro"], undefined])
      // The present plans again, at either time, withdraw it.
      assert.notProperty(yield* customer.changePlan("plan", { at: "period-end" }), "pendingChange")
      yield* customer.changePlan("free", { at: "period-end" })
      assert.notProperty(yield* customer.changePlan("pro"), "pendingChange")
      yield* customer.changePlan("free", { at: "period-end" })
      assert.notProperty(yield* customer.cancel("now"), "pendingChange")
      yield* setTime("2027-02-15T00:00:00Z")
      assert.deepStrictEqual((yield* customer.subscription(id)).planExternalIds, ["pro"])
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )

  it.effect("are withdrawn by the customer, and by an update of plans or status, but not by another", () =>
    Effect.gen(function* () {
      const { customer, subscribe } = yield* open()
      assert.strictEqual(yield* codeOf(customer.withdraw), "customer-not-found")
      const { id } = yield* subscribe()
      assert.strictEqual(yield* codeOf(customer.withdraw), "pending-change-not-found")
      const change = customer.changePlan("pro", { at: "period-end" })
      yield* change
      yield* customer.withdraw
      assert.notProperty(yield* customer.get, "pendingChange")
      for (const payload of [{ planExternalIds: ["free"] }, { status: "past-due" }] as const) {
        yield* change
        assert.notProperty(yield* customer.update(id, payload), "pendingChange")
      }
      yield* change
      assert.property(yield* customer.update(id, { metadata: { a: 1 }, overrides: {} }), "pendingChange")
      yield* setTime("2027-02-15T00:00:00Z")
      // Too late: it has acted, and no job has written it yet.
      assert.strictEqual(yield* codeOf(customer.withdraw), "pending-change-not-found")
      assert.deepStrictEqual((yield* customer.subscription(id)).planExternalIds, ["pro"])
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )

  it.effect("keep their plan in use until they are withdrawn, and the plan left behind until they are written", () =>
    Effect.gen(function* () {
      const { bucketId, customer, subscribe, plan, persist } = yield* open()
      const plans = yield* Plans
      yield* subscribe()
      const { pendingChange: { planIds: [pro = ""] = [] } = {} } = yield* customer.changePlan("pro", {
        at: "period-end"
      })
      const remove = (planId: string) => codeOf(plans.remove({ params: { bucketId, planId } }))
      const read = yield* plans.get({ params: { bucketId, planId: pro } })
      assert.isTrue(read.value.hasSubscriptions)
      assert.strictEqual(yield* remove(pro), "plan-in-use")
      yield* setTime("2027-02-15T00:00:00Z")
      assert.strictEqual(yield* remove(pro), "plan-in-use")
      yield* persist
      assert.strictEqual(yield* remove(plan.id), "succeeded")
      assert.strictEqual(yield* remove(pro), "plan-in-use")
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )

  it.effect("of a customer without a subscription create one with the defaults, once", () =>
    Effect.gen(function* () {
      const { customer, startOther } = yield* open("org/ü 1")
      const other = yield* startOther()
      const created = yield* Effect.all(
        [customer.changePlan("pro", {}, "a"), other.changePlan("pro", {}, "b"), customer.changePlan("pro", {}, "a")],
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(created.map(({ id }) => id)).size, 1)
      const { subscriptions } = yield* customer.get
      assert.strictEqual(subscriptions.length, 1)
      assert.deepInclude(subscriptions[0], {
        status: "active",
        type: "periodic",
        renewalStrategy: "monthly",
        region: "us-central1",
        customerKey: "org/ü 1",
        customerExternalId: "org/ü 1"
      })
      assert.strictEqual(yield* codeOf(customer.changePlan("missing")), "unknown-plan")
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )

  it.effect("of a customer who returns in the same period continue the subscription, with what was used", () =>
    Effect.gen(function* () {
      const { customer, subscribe } = yield* open()
      const { id } = yield* subscribe()
      yield* customer.consume({ requests: 7 })
      yield* customer.cancel("now")
      assert.strictEqual(yield* codeOf(customer.consume()), "subscription-not-active")
      assert.strictEqual(yield* codeOf(customer.cancel("now")), "subscription-not-active")
      yield* setTime("2027-02-14T23:59:59Z")
      const returned = yield* customer.changePlan("plan", { at: "period-end" })
      assert.deepStrictEqual([returned.id, returned.status], [id, "active"])
      assert.strictEqual(iso(returned.quotaResetAnchor), "2027-01-15T00:00:00.000Z")
      assert.strictEqual((yield* customer.consume())["requests"]?.used, 8)
      yield* customer.cancel("now")
      // To other plans, prorated.
      yield* customer.changePlan("pro", { prorate: 0.1 })
      assert.strictEqual((yield* customer.get).meters["requests"]?.allowance.max, 10)
      yield* customer.cancel("now")
      yield* setTime("2027-02-15T00:00:00Z")
      const fresh = yield* customer.changePlan("plan")
      assert.notStrictEqual(fresh.id, id)
      assert.strictEqual((yield* customer.consume())["requests"]?.used, 1)
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )

  it.effect("of a customer who returns continue the subscription also if many newer ones were canceled before", () =>
    Effect.gen(function* () {
      const { customer, subscribe } = yield* open()
      const { id } = yield* subscribe()
      yield* customer.consume({ requests: 10 })
      for (let count = 0; count < 30; count++) yield* subscribe({ status: "canceled" })
      yield* setTime("2027-01-16T00:00:00Z")
      yield* customer.cancel("now")
      assert.strictEqual((yield* customer.changePlan("plan")).id, id)
      assert.strictEqual(yield* codeOf(customer.consume()), "quota-exceeded")
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )

  it.effect("of a customer who returns after the end of the period that was paid continue the subscription", () =>
    Effect.gen(function* () {
      const { customer, subscribe, persist } = yield* open()
      const { id } = yield* subscribe()
      yield* customer.consume({ requests: 7 })
      yield* customer.cancel("period-end")
      yield* setTime("2027-02-16T00:00:00Z")
      // Before and after a job has written that it is canceled.
      const before = yield* customer.changePlan("plan")
      assert.deepStrictEqual([before.id, before.status], [id, "active"])
      assert.strictEqual((yield* customer.consume())["requests"]?.used, 1)
      yield* customer.cancel("period-end")
      yield* setTime("2027-03-16T00:00:00Z")
      yield* persist
      assert.strictEqual((yield* customer.changePlan("pro")).id, id)
      yield* customer.cancel("period-end")
      yield* setTime("2027-05-16T00:00:00Z")
      assert.notStrictEqual((yield* customer.changePlan("pro")).id, id)
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )

  it.effect("act on the newest subscription that allows usage, and once for each idempotency key", () =>
    Effect.gen(function* () {
      const { customer, subscribe } = yield* open()
      const first = yield* subscribe()
      yield* TestClock.adjust(1)
      const second = yield* subscribe()
      yield* customer.update(second.id, { status: "unpaid" })
      assert.strictEqual((yield* customer.changePlan("pro")).id, first.id)
      yield* customer.update(second.id, { status: "past-due" })
      assert.strictEqual((yield* customer.cancel("now", "once")).id, second.id)
      assert.strictEqual((yield* customer.cancel("now", "once")).id, second.id)
      assert.strictEqual((yield* customer.subscription(first.id)).status, "active")
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* customer.cancel("now")).id, first.id)
      // The one that was canceled last.
      assert.strictEqual((yield* customer.changePlan("pro")).id, first.id)
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )

  it.effect("change features and rate limits at the same time as maxima", () =>
    Effect.gen(function* () {
      const { bucketId, customer, subscribe, persist } = yield* open()
      const plans = yield* Plans
      const payload = { features: { exports: true }, rateLimits: { daily: { limit: 1, per: "day" } } } as const
      yield* subscribe()
      const { pendingChange: { planIds: [planId = ""] = [] } = {} } = yield* customer.changePlan("pro", {
        at: "period-end"
      })
      yield* plans.update({ params: { bucketId, planId }, payload })
      yield* setTime("2027-02-14T23:59:59.999Z")
      yield* customer.consume()
      yield* customer.consume()
      assert.deepStrictEqual((yield* customer.get).features, {})
      yield* setTime("2027-02-15T00:00:00Z")
      assert.deepStrictEqual((yield* customer.get).features, { exports: true })
      yield* customer.consume()
      assert.strictEqual(yield* codeOf(customer.consume()), "rate-limited")
      yield* persist
      assert.strictEqual(yield* codeOf(customer.consume()), "rate-limited")
      assert.deepStrictEqual((yield* customer.get).features, { exports: true })
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )

  it.effect("and trials act in the order of their times", () =>
    Effect.gen(function* () {
      const { bucketId, customer, subscribe, persist } = yield* open()
      const trialOf = (trialEndDate: string, trialEndStatus = "active") =>
        ({ status: "trialing", trialEndDate: DateTime.makeUnsafe(trialEndDate), trialEndStatus }) as const
      const { id } = yield* subscribe(trialOf("2027-02-20T00:00:00Z"))
      yield* customer.changePlan("pro", { at: "period-end" })
      const before = (yield* readEvents(bucketId)).length
      yield* setTime("2027-02-16T00:00:00Z")
      const trialing = yield* customer.subscription(id)
      assert.deepStrictEqual([trialing.status, trialing.planExternalIds], ["trialing", ["pro"]])
      yield* setTime("2027-02-21T00:00:00Z")
      assert.strictEqual((yield* customer.consume())["requests"]?.max, 100)
      yield* persist
      assert.deepStrictEqual(
        (yield* readEvents(bucketId)).slice(before).map(({ type, data }) => [type, data["status"]]),
        [
          ["subscription.updated", "trialing"],
          ["subscription.status_changed", "active"]
        ]
      )
      // A trial that would end later is canceled.
      yield* customer.update(id, trialOf("2027-04-01T00:00:00Z"))
      yield* customer.cancel("period-end")
      yield* setTime("2027-05-01T00:00:00Z")
      assert.strictEqual((yield* customer.subscription(id)).status, "canceled")
      yield* persist
      assert.strictEqual((yield* customer.subscription(id)).status, "canceled")
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )

  it.effect("are counted exactly by processes that reach the end of the period at different times", () =>
    Effect.gen(function* () {
      const { customer, startOther, subscribe, persist } = yield* open()
      yield* subscribe()
      const ahead = yield* startOther(30_000)
      yield* customer.consume()
      yield* ahead.consume()
      yield* customer.changePlan("free", { at: "period-end" })
      yield* setTime("2027-02-14T23:59:45Z")
      // For one the period is over, for the other it is not.
      const [old, next] = [(yield* customer.consume())["requests"], (yield* ahead.consume())["requests"]]
      assert.deepStrictEqual([old?.max, old?.used, next?.max, next?.used], [10, 3, 2, 1])
      yield* ahead.consume()
      assert.strictEqual(yield* codeOf(ahead.consume()), "quota-exceeded")
      yield* customer.consume()
      yield* setTime("2027-02-15T00:00:00Z")
      assert.strictEqual(yield* codeOf(customer.consume()), "quota-exceeded")
      yield* persist
      assert.strictEqual(yield* codeOf(ahead.consume()), "quota-exceeded")
    }).pipe(startAt("2027-01-15T00:00:00Z"))
  )
})
