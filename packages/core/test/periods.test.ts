/**
 * Periods that are closed with their final numbers, once each and in order, and corrected when they change later.
 */
import { assert, describe, it } from "@effect/vitest"
import { Customers, Grants, Subscriptions, Tollgate, Usage } from "@tollgate/core/effect"
import { Partition } from "@tollgate/store/internal"
import { Clock, DateTime, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { closePeriods } from "../src/metering/periods/closePeriods.ts"
import { persistDueChanges } from "../src/metering/subscriptions/persistDueChanges.ts"
import { outboxRecords } from "../src/outbox/outboxRecords.ts"
import { shiftClock } from "./shiftClock.ts"
import { secret, stores } from "./stores.ts"
import { setTime, setUp, startOn, sum, useSubscription } from "./usageServices.ts"

const start = "2027-01-31T10:00:00Z"
const quotaResetAnchor = DateTime.makeUnsafe(start)
/** The end of the first period: the last day of a shorter month. */
const end = "2027-02-28T10:00:00Z"

interface Data {
  readonly id: string
  readonly revision: number
  readonly periodStart: string
  readonly closedBy: string
  readonly status: string
  readonly planExternalIds: ReadonlyArray<string>
  readonly meters: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly previous?: Readonly<Record<string, Readonly<Record<string, number>>>>
}

/** What a customer can do, and the events of its periods so far, with their position among all events. */
const open = Effect.fnUntraced(function* (maxima = { requests: 10, tokens: 100 }) {
  const bucket = yield* setUp(maxima)
  const { bucketId } = bucket
  const [customers, grants, usage, subscriptions] = [
    yield* Customers,
    yield* Grants,
    yield* Usage,
    yield* Subscriptions
  ]
  const params = { bucketId, customerKey: "alice" }
  const readAll = Effect.map(
    outboxRecords.page(Partition.forMeteringBucket(bucketId), { offset: 0, limit: 1_000 }),
    ({ entries }) => entries.map(({ value }) => value)
  )
  return {
    ...bucket,
    /** Does what is due, and returns when more is. */
    close: Effect.flatMap(DateTime.now, (now) => closePeriods(bucketId, now)),
    persist: Effect.flatMap(DateTime.now, (now) => persistDueChanges(bucketId, now)),
    readAll,
    read: Effect.map(readAll, (events) =>
      events
        .filter(({ type }) => type.startsWith("period."))
        .map(({ type, subject, data }) => ({ type, subject, data: data as unknown as Data }))
    ),
    grant: (amount: number, fields: object = {}) =>
      grants.create({ params, payload: { meter: "requests", amount, ...fields } }),
    changePlan: (planExternalId: string, at: "now" | "period-end" = "now") =>
      customers.changePlan({ params, payload: { planExternalIds: [planExternalId], at } }),
    cancel: (at: "now" | "period-end" = "now") => customers.cancel({ params, payload: { at } }),
    update: (subscriptionId: string, payload: Parameters<Subscriptions["Service"]["update"]>[0]["payload"]) =>
      subscriptions.update({ params: { bucketId, subscriptionId }, payload }),
    recordEvent: (id: string, time: string, requests: number) =>
      usage.recordEvents({
        params: { bucketId },
        payload: [
          {
            specversion: "1.0",
            id,
            source: "/test",
            type: "test",
            subject: "alice",
            time,
            data: { meters: { requests } }
          }
        ]
      })
  }
})

const used = (amount: number, allowance = amount, credit = 0) => ({
  used: amount,
  allowance,
  credit,
  overage: amount - allowance - credit
})

/** The events in short: type, start of the period, revision, and what was used of requests. */
const summarize = (events: ReadonlyArray<{ readonly type: string; readonly data: Data }>) =>
  events.map(({ type, data }) => [
    type.slice("period.".length),
    data.periodStart.slice(0, 10),
    data.revision,
    data.meters["requests"]?.["used"]
  ])

describe.each(stores)("periods, on %s", (_, store) => {
  const startAt = (time: string) => startOn(store)(time, { background: false })

  it.effect("are closed once, 11 minutes after their end, with the numbers of each source", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe, updatePlan, close, read, grant } = yield* open()
      yield* updatePlan({ meters: { requests: { max: 10, isSoftLimit: true }, tokens: { max: 100 } } })
      const alice = yield* subscribe({ quotaResetAnchor })
      yield* grant(5)
      yield* alice.consume({ requests: 12, tokens: 7 })
      yield* alice.consume({ requests: 6 })
      yield* setTime(end)
      yield* TestClock.adjust("660 seconds")
      yield* TestClock.adjust(-1)
      yield* close
      assert.deepStrictEqual(yield* read, [])
      yield* alice.consume({ requests: 1 })
      yield* TestClock.adjust(1)
      for (let run = 0; run < 3; run++) yield* close
      const id = `${alice.id}:month:2027-01-31T10:00:00.000Z`
      assert.deepStrictEqual(yield* read, [
        {
          type: "period.closed",
          subject: { type: "subscription", id: alice.id, name: "alice" },
          data: {
            id,
            revision: 1,
            meteringBucketId: bucketId,
            subscriptionId: alice.id,
            customerKey: "alice",
            customerExternalId: "c",
            planExternalIds: ["plan"],
            status: "active",
            period: "month",
            periodStart: "2027-01-31T10:00:00.000Z",
            periodEnd: "2027-02-28T10:00:00.000Z",
            closedBy: "period-end",
            meters: {
              requests: { max: 10, used: 18, allowance: 10, credit: 5, overage: 3 },
              tokens: { max: 100, ...used(7) }
            }
          } as unknown as Data
        }
      ])
      assert.strictEqual(sum(yield* alice.series("period", { from: start, to: end })), 18)
    }).pipe(startAt(start))
  )

  it.effect("of a subscription without usage have zeros, and those of a day or without end are not closed", () =>
    Effect.gen(function* () {
      const { subscribe, updatePlan, close, read } = yield* open()
      yield* updatePlan({
        meters: {
          requests: { max: 10 },
          calls: { max: 3, period: "day" },
          seats: { max: 3, period: "none" },
          reports: { max: 3, period: "year" }
        }
      })
      const alice = yield* subscribe({ quotaResetAnchor })
      yield* alice.consume({ calls: 3, seats: 3, reports: 2 })
      for (let month = 0; month < 12; month++) {
        yield* TestClock.adjust("31 days")
        yield* close
      }
      const events = yield* read
      const kinds = events.map(({ data }) => [data.id.split(":")[1], Object.keys(data.meters).join()])
      assert.deepStrictEqual(kinds, [...Array.from({ length: 12 }, () => ["month", "requests"]), ["year", "reports"]])
      assert.deepStrictEqual(events[0]?.data.meters, { requests: { max: 10, ...used(0) } })
      assert.deepStrictEqual(events[12]?.data.meters, { reports: { max: 3, ...used(2) } })
    }).pipe(startAt(start))
  )

  it.effect("that were missed are closed in order, with what was counted in each", () =>
    Effect.gen(function* () {
      const { subscribe, close, read } = yield* open()
      const alice = yield* subscribe({ quotaResetAnchor })
      const bob = yield* subscribe({ quotaResetAnchor, customerKey: "bob" })
      for (let amount = 1; amount <= 4; amount++) {
        yield* alice.consume({ requests: amount })
        yield* TestClock.adjust("31 days")
      }
      yield* close
      const events = yield* read
      const expected = ["2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30"].map((day, index) => [
        "closed",
        day,
        1,
        index + 1
      ])
      assert.deepStrictEqual(summarize(events.filter(({ subject }) => subject.id === alice.id)), expected)
      assert.strictEqual(events.filter(({ subject }) => subject.id === bob.id).length, 4)
    }).pipe(startAt(start))
  )

  it.effect("keep what grants gave over a downtime", () =>
    Effect.gen(function* () {
      const { subscribe, close, read, grant } = yield* open()
      const alice = yield* subscribe({ quotaResetAnchor })
      yield* grant(50)
      yield* alice.consume({ requests: 13 })
      yield* setTime("2027-03-07T10:00:00Z")
      // Settles the credit, and closes the period in the ledger.
      yield* alice.consume({ requests: 12 })
      yield* close
      assert.deepStrictEqual((yield* read)[0]?.data.meters["requests"], { max: 10, ...used(13, 10, 3) })
      yield* setTime("2027-04-07T10:00:00Z")
      yield* close
      assert.deepStrictEqual((yield* read)[1]?.data.meters["requests"], { max: 10, ...used(12, 10, 2) })
    }).pipe(startAt(start))
  )

  it.effect("wait for open reservations, and for no others", () =>
    Effect.gen(function* () {
      const { subscribe, close, read } = yield* open()
      const alice = yield* subscribe({ quotaResetAnchor })
      yield* setTime(end)
      yield* TestClock.adjust("-1 minute")
      const settled = yield* alice.reserve({ requests: 4 }, 3_600)
      yield* alice.reserve({ requests: 3 }, 3_600)
      yield* TestClock.adjust("13 minutes")
      // Of the next period.
      yield* alice.reserve({ requests: 2 }, 3_600)
      for (let minute = 0; minute < 40; minute++) {
        yield* close
        yield* TestClock.adjust("1 minute")
      }
      assert.deepStrictEqual(yield* read, [])
      yield* alice.settle(settled.id, { requests: 1 })
      yield* TestClock.adjust("7 minutes")
      yield* close
      const [event] = yield* read
      assert.deepStrictEqual(event?.data.meters["requests"], { max: 10, ...used(1) })
    }).pipe(startAt(start))
  )

  it.effect("have the plans of their end, whatever the subscription has when they are closed", () =>
    Effect.gen(function* () {
      const { subscribe, createPlan, changePlan, update, persist, close, read, readAll } = yield* open()
      yield* createPlan("pro", { requests: 1_000, tokens: 5 })
      const alice = yield* subscribe({ quotaResetAnchor })
      yield* alice.consume({ requests: 9 })
      yield* changePlan("pro", "period-end")
      yield* setTime(end)
      yield* TestClock.adjust("30 seconds")
      yield* persist
      yield* alice.consume({ requests: 500 })
      yield* TestClock.adjust("5 minutes")
      yield* update(alice.id, { overrides: { meters: { requests: { max: 2_000 } } } })
      yield* TestClock.adjust("6 minutes")
      yield* close
      yield* setTime("2027-03-31T10:30:00Z")
      yield* close
      const [first, second] = yield* read
      assert.deepStrictEqual(first?.data.planExternalIds, ["plan"])
      assert.deepStrictEqual(first?.data.meters, {
        requests: { max: 10, ...used(9) },
        tokens: { max: 100, ...used(0) }
      })
      assert.deepStrictEqual(second?.data.planExternalIds, ["pro"])
      assert.deepStrictEqual(second?.data.meters["requests"], { max: 2_000, ...used(500) })
      const types = (yield* readAll).map(({ type }) => type).filter((type) => !type.startsWith("plan."))
      assert.deepStrictEqual(types.slice(-4), [
        "subscription.updated",
        "subscription.updated",
        "period.closed",
        "period.closed"
      ])
    }).pipe(startAt(start))
  )

  it.effect("are corrected when events of them come late, once for what comes within a minute", () =>
    Effect.gen(function* () {
      const { subscribe, updatePlan, recordEvent, close, read } = yield* open()
      yield* updatePlan({ meters: { requests: { max: 10, isSoftLimit: true } } })
      const alice = yield* subscribe({ quotaResetAnchor })
      yield* alice.consume({ requests: 8 })
      yield* setTime(end)
      // Before it is closed: no correction.
      yield* TestClock.adjust("1 minute")
      yield* recordEvent("one", "2027-02-28T09:00:00Z", 1)
      yield* TestClock.adjust("20 minutes")
      yield* close
      yield* recordEvent("two", "2027-02-28T09:59:59Z", 2)
      yield* recordEvent("three", "2027-02-28T09:00:00Z", 3)
      yield* recordEvent("four", "2027-02-28T10:10:00Z", 4)
      yield* close
      assert.strictEqual((yield* read).length, 1)
      yield* TestClock.adjust("1 minute")
      for (let run = 0; run < 2; run++) yield* close
      const events = yield* read
      assert.deepStrictEqual(summarize(events), [
        ["closed", "2027-01-31", 1, 9],
        ["corrected", "2027-01-31", 2, 14]
      ])
      assert.strictEqual(events[1]?.data.id, events[0]?.data.id)
      assert.deepStrictEqual(events[1]?.data.previous, { requests: { max: 10, ...used(9) } })
      assert.deepStrictEqual(events[1]?.data.meters["requests"], { max: 10, ...used(14, 10) })
      assert.strictEqual((yield* alice.usedQuotas)["requests"], 4)
      yield* setTime("2027-03-02T10:00:00Z")
      yield* recordEvent("five", "2027-02-28T09:00:00Z", 1)
      yield* setTime("2027-03-31T10:30:00Z")
      yield* close
      assert.deepStrictEqual(summarize((yield* read).slice(2)), [
        ["corrected", "2027-01-31", 3, 15],
        ["closed", "2027-02-28", 1, 4]
      ])
    }).pipe(startAt(start))
  )

  it.effect("are corrected when a process counts in them whose clock is behind", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe, close, read } = yield* open()
      const alice = yield* subscribe({ quotaResetAnchor })
      const bob = yield* subscribe({ quotaResetAnchor, customerKey: "bob" })
      const clock = shiftClock(yield* Clock.Clock, -30 * 60_000)
      const other = yield* Layer.build(Layer.fresh(Tollgate.layer({ secret, background: false })))
      const use = (id: string) => Effect.provideContext(useSubscription(bucketId, id, clock), other)
      const [slow, first] = [yield* use(alice.id), yield* use(bob.id)]
      yield* setTime(end)
      yield* slow.consume({ requests: 2 })
      yield* TestClock.adjust("11 minutes")
      yield* close
      yield* slow.consume({ requests: 3 })
      yield* slow.consume({ requests: 1 })
      // Its first use.
      yield* first.consume({ requests: 5 })
      yield* TestClock.adjust("15 minutes")
      yield* close
      yield* slow.consume({ requests: 1 })
      yield* setTime("2027-03-31T10:30:00Z")
      yield* close
      const events = yield* read
      const ofAlice = events.filter(({ subject }) => subject.id === alice.id)
      assert.deepStrictEqual(summarize(ofAlice), [
        ["closed", "2027-01-31", 1, 2],
        ["corrected", "2027-01-31", 2, 6],
        ["corrected", "2027-01-31", 3, 7],
        ["closed", "2027-02-28", 1, 0]
      ])
      assert.deepStrictEqual(summarize(events.filter(({ subject }) => subject.id === bob.id)), [
        ["closed", "2027-01-31", 1, 0],
        ["corrected", "2027-01-31", 2, 5],
        ["closed", "2027-02-28", 1, 0]
      ])
    }).pipe(startAt(start))
  )

  it.effect("are closed when the subscription is canceled, and corrected when it is settled later", () =>
    Effect.gen(function* () {
      const { subscribe, updatePlan, cancel, close, read } = yield* open()
      yield* updatePlan({ meters: { requests: { max: 10 }, reports: { max: 3, period: "year" } } })
      const alice = yield* subscribe({ quotaResetAnchor })
      yield* alice.consume({ requests: 2, reports: 1 })
      const reservation = yield* alice.reserve({ requests: 5 }, 3_600)
      yield* setTime("2027-02-10T00:00:00Z")
      const held = yield* alice.reserve({ requests: 4 }, 3_600)
      yield* cancel()
      yield* TestClock.adjust("2 seconds")
      yield* close
      const [month, year] = yield* read
      assert.deepStrictEqual(month?.data.meters, { requests: { max: 10, ...used(2) } })
      assert.deepStrictEqual([month?.data.closedBy, month?.data.status], ["canceled", "canceled"])
      assert.deepStrictEqual(year?.data.meters, { reports: { max: 3, ...used(1) } })
      assert.strictEqual(
        (yield* Effect.flip(alice.settle(reservation.id, { requests: 1 })))._tag,
        "ReservationNotFound"
      )
      yield* alice.settle(held.id, { requests: 3 })
      yield* TestClock.adjust("5 minutes")
      yield* close
      yield* setTime("2028-03-10T00:00:00Z")
      yield* close
      assert.deepStrictEqual(summarize(yield* read), [
        ["closed", "2027-01-31", 1, 2],
        ["closed", "2027-01-31", 1, undefined],
        ["corrected", "2027-01-31", 2, 5]
      ])
    }).pipe(startAt(start))
  )

  it.effect("in which a customer returns are corrected at their end", () =>
    Effect.gen(function* () {
      const { subscribe, cancel, changePlan, close, read } = yield* open()
      const alice = yield* subscribe({ quotaResetAnchor })
      const cancelNow = Effect.gen(function* () {
        yield* TestClock.adjust("1 hour")
        yield* cancel()
        yield* TestClock.adjust("2 seconds")
        yield* close
      })
      yield* alice.consume({ requests: 2 })
      yield* cancelNow
      // The same subscription, and then another with its counters.
      yield* changePlan("plan")
      yield* alice.consume({ requests: 1 })
      yield* cancelNow
      const second = yield* subscribe({ continueUsage: true })
      yield* second.consume({ requests: 4 })
      yield* close
      yield* setTime("2027-03-31T10:30:00Z")
      yield* close
      const events = yield* read
      assert.deepStrictEqual(summarize(events), [
        ["closed", "2027-01-31", 1, 2],
        ["corrected", "2027-01-31", 2, 3],
        ["corrected", "2027-01-31", 3, 7],
        ["closed", "2027-02-28", 1, 0]
      ])
      assert.deepStrictEqual(
        events.map(({ subject }) => subject.id),
        [alice.id, alice.id, second.id, second.id]
      )
      assert.strictEqual(new Set(events.map(({ data }) => data.id)).size, 2)
    }).pipe(startAt(start))
  )

  it.effect("are not closed while a subscription is canceled, and again after it has returned", () =>
    Effect.gen(function* () {
      const { subscribe, update, cancel, persist, close, read } = yield* open()
      const alice = yield* subscribe({ quotaResetAnchor })
      yield* alice.consume({ requests: 2 })
      yield* cancel("period-end")
      yield* setTime(end)
      yield* TestClock.adjust("1 minute")
      yield* persist
      yield* close
      assert.deepStrictEqual(yield* read, [])
      yield* TestClock.adjust("10 minutes")
      yield* close
      yield* setTime("2027-06-10T00:00:00Z")
      assert.strictEqual(yield* close, undefined)
      yield* update(alice.id, { status: "active" })
      yield* alice.consume({ requests: 3 })
      yield* setTime("2027-07-10T00:00:00Z")
      yield* close
      assert.deepStrictEqual(summarize(yield* read), [
        ["closed", "2027-01-31", 1, 2],
        ["closed", "2027-05-31", 1, 3]
      ])
      assert.deepStrictEqual(
        (yield* read).map(({ data }) => data.closedBy),
        ["period-end", "period-end"]
      )
    }).pipe(startAt(start))
  )

  it.effect("of a trial that ends canceled are closed at once, and those of a paused subscription at their end", () =>
    Effect.gen(function* () {
      const { subscribe, update, persist, close, read } = yield* open()
      const alice = yield* subscribe({
        quotaResetAnchor,
        status: "trialing",
        trialEndDate: DateTime.makeUnsafe("2027-02-10T00:00:00Z"),
        trialEndStatus: "canceled"
      })
      const bob = yield* subscribe({ quotaResetAnchor, customerKey: "bob" })
      yield* alice.consume({ requests: 2 })
      yield* bob.consume({ requests: 5 })
      yield* update(bob.id, { status: "inactive" })
      yield* setTime("2027-02-10T00:00:30Z")
      yield* persist
      yield* TestClock.adjust("2 seconds")
      yield* close
      assert.deepStrictEqual(summarize(yield* read), [["closed", "2027-01-31", 1, 2]])
      yield* setTime("2027-03-01T00:00:00Z")
      yield* close
      const [first, second, ...more] = yield* read
      assert.deepStrictEqual([first?.data.closedBy, more.length], ["canceled", 0])
      assert.deepStrictEqual([second?.data.status, second?.data.meters["requests"]?.["used"]], ["inactive", 5])
    }).pipe(startAt(start))
  )

  it.effect("are closed in the commit that deletes the subscription", () =>
    Effect.gen(function* () {
      const { subscribe, close, read, readAll, grant, removeBucket } = yield* open()
      const alice = yield* subscribe({ quotaResetAnchor })
      yield* grant(5)
      yield* alice.consume({ requests: 12, tokens: 1 })
      yield* setTime(end)
      yield* TestClock.adjust("5 minutes")
      yield* alice.consume({ requests: 4 })
      yield* alice.remove
      const events = yield* read
      assert.deepStrictEqual(
        events.map(({ data }) => [data.periodStart.slice(0, 10), data.closedBy, data.meters["requests"]]),
        [
          ["2027-01-31", "period-end", { max: 10, ...used(12, 10, 2) }],
          ["2027-02-28", "deleted", { max: 10, ...used(4) }]
        ]
      )
      assert.strictEqual((yield* readAll).at(-1)?.type, "subscription.deleted")
      yield* setTime("2027-04-28T10:00:00Z")
      assert.strictEqual(yield* close, undefined)
      assert.strictEqual((yield* read).length, 2)
      yield* subscribe({ quotaResetAnchor, customerKey: "bob" })
      yield* removeBucket
      yield* setTime("2027-06-28T10:00:00Z")
      assert.strictEqual(yield* close, undefined)
    }).pipe(startAt(start))
  )
})
