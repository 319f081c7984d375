import { assert, describe, it } from "@effect/vitest"
import { Partition, Store } from "@tollgate/store"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { stores } from "./stores.ts"
import { dayMs, hourMs, type Series, setTime, setUp, startOn, startProcess, sum, used } from "./usageServices.ts"

/** Where a series starts and ends, and how many steps it has. */
const getBounds = ({ from, to, data }: Series) => [from, to, data.length]

describe.each(stores)("usage over time, on %s", (_, store) => {
  const startAt = startOn(store)

  it.effect("is shown in clock hours, days and periods, with every meter and zeros in gaps", () =>
    Effect.gen(function* () {
      const { subscribe } = yield* setUp()
      const subscription = yield* subscribe()
      yield* subscription.consume({ requests: 3 })
      yield* TestClock.adjust("1 millis")
      yield* subscription.consume({ requests: 4, tokens: 7 })
      yield* setTime("2027-03-15T00:00:00Z")
      yield* subscription.consume({ tokens: 11 })
      const day = { from: "2027-03-14T00:00:00.000Z", to: "2027-03-16T00:00:00.000Z" }
      assert.deepStrictEqual(yield* subscription.series("day", day), {
        step: "day",
        ...day,
        data: [
          {
            start: "2027-03-14T00:00:00.000Z",
            end: "2027-03-15T00:00:00.000Z",
            meters: { requests: 7, tokens: 7 }
          },
          {
            start: "2027-03-15T00:00:00.000Z",
            end: "2027-03-16T00:00:00.000Z",
            meters: { requests: 0, tokens: 11 }
          }
        ]
      })
      const hours = yield* subscription.series("hour", {
        from: "2027-03-14T08:00:00Z",
        to: "2027-03-14T12:00:00Z"
      })
      assert.deepStrictEqual(
        hours.data.map(({ start, end, meters }) => [start.slice(11, 13), end.slice(11, 13), meters]),
        [
          ["08", "09", { requests: 0, tokens: 0 }],
          ["09", "10", { requests: 3, tokens: 0 }],
          ["10", "11", { requests: 4, tokens: 7 }],
          ["11", "12", { requests: 0, tokens: 0 }]
        ]
      )
      const periods = yield* subscription.series("period", { from: "2027-03-14T10:00:00Z" })
      assert.deepStrictEqual(periods.data, [
        {
          start: "2027-03-14T09:59:59.999Z",
          end: "2027-04-14T09:59:59.999Z",
          meters: { requests: 7, tokens: 18 }
        }
      ])
    }).pipe(startAt("2027-03-14T09:59:59.999Z"))
  )

  it.effect("has 30 steps by default, with the present one last, and days unless told otherwise", () =>
    Effect.gen(function* () {
      const { subscribe, totals } = yield* setUp()
      const subscription = yield* subscribe()
      const days = ["2027-02-13T00:00:00.000Z", "2027-03-15T00:00:00.000Z", 30]
      const empty = yield* subscription.series()
      assert.deepStrictEqual([empty.step, ...getBounds(empty)], ["day", ...days])
      assert.isTrue(empty.data.every(({ meters }) => meters["requests"] === 0 && meters["tokens"] === 0))
      assert.deepStrictEqual(getBounds(yield* totals()), days)
      assert.deepStrictEqual(getBounds(yield* subscription.series("hour")), [
        "2027-03-13T04:00:00.000Z",
        "2027-03-14T10:00:00.000Z",
        30
      ])
      assert.deepStrictEqual(getBounds(yield* subscription.series("period")), [
        "2024-10-14T09:30:00.000Z",
        "2027-04-14T09:30:00.000Z",
        30
      ])
      // The end of a step is not part of the next one.
      yield* setTime("2027-03-15T00:00:00Z")
      assert.strictEqual((yield* subscription.series()).to, "2027-03-16T00:00:00.000Z")
      const earlier = yield* subscription.series("day", { to: "2027-03-01T00:00:00Z" })
      assert.deepStrictEqual(getBounds(earlier), ["2027-01-30T00:00:00.000Z", "2027-03-01T00:00:00.000Z", 30])
      const later = yield* subscription.series("day", { to: "2027-03-01T00:00:00.001Z" })
      assert.deepStrictEqual(getBounds(later), ["2027-01-31T00:00:00.000Z", "2027-03-02T00:00:00.000Z", 30])
      const toPresent = yield* subscription.series("day", { from: "2027-03-10T12:00:00Z" })
      assert.deepStrictEqual(getBounds(toPresent), ["2027-03-10T00:00:00.000Z", "2027-03-16T00:00:00.000Z", 6])
    }).pipe(startAt("2027-03-14T09:30:00Z"))
  )

  it.effect("widens a range to whole steps and returns it", () =>
    Effect.gen(function* () {
      const { subscribe, totals } = yield* setUp()
      const subscription = yield* subscribe()
      yield* setTime("2027-04-20T10:30:00Z")
      const cases = [
        ["hour", "2027-04-20T08:59:59.999Z", "2027-04-20T09:00:00.001Z", "2027-04-20T08:00", "2027-04-20T10:00", 2],
        ["hour", "2027-04-20T08:00:00Z", "2027-04-20T09:00:00Z", "2027-04-20T08:00", "2027-04-20T09:00", 1],
        ["hour", "2027-04-20T10:10:00+02:00", "2027-04-20T12:00:00+02:00", "2027-04-20T08:00", "2027-04-20T10:00", 2],
        ["day", "2027-04-18T23:59:59Z", "2027-04-20T00:00:01Z", "2027-04-18T00:00", "2027-04-21T00:00", 3],
        ["day", "2027-04-18T00:00:00Z", "2027-04-18T00:00:00Z", "2027-04-18T00:00", "2027-04-18T00:00", 0],
        ["period", "2027-02-28T10:30:00Z", "2027-03-31T10:30:00Z", "2027-02-28T10:30", "2027-03-31T10:30", 1],
        ["period", "2027-02-28T10:29:59Z", "2027-03-31T10:30:01Z", "2027-01-31T10:30", "2027-04-30T10:30", 3],
        ["day", "2027-04-20T00:00:00Z", "2028-04-20T00:00:00Z", "2027-04-20T00:00", "2028-04-20T00:00", 366]
      ] as const
      for (const [step, from, to, widenedFrom, widenedTo, steps] of cases) {
        const expected = [`${widenedFrom}:00.000Z`, `${widenedTo}:00.000Z`, steps]
        assert.deepStrictEqual(getBounds(yield* subscription.series(step, { from, to })), expected)
        if (step === "day") assert.deepStrictEqual(getBounds(yield* totals({ from, to })), expected)
      }
    }).pipe(startAt("2027-01-31T10:30:00Z"))
  )

  it.effect("refuses a range that ends before it starts, or has more than 1,000 steps", () =>
    Effect.gen(function* () {
      const { subscribe, totals } = yield* setUp()
      const subscription = yield* subscribe({ renewalStrategy: "monthly" })
      const getParameter = (error: { readonly _tag: string }) =>
        "errors" in error && Array.isArray(error.errors) ? error.errors[0]?.parameter : error._tag
      const refuse = (step: "hour" | "day" | "period", from: string, to: string) =>
        Effect.map(Effect.flip(subscription.series(step, { from, to })), getParameter)
      assert.strictEqual(yield* refuse("hour", "2027-04-20T10:00:00.001Z", "2027-04-20T10:00:00Z"), "to")
      assert.strictEqual(yield* refuse("period", "2027-04-20T10:00:00.001Z", "2027-04-20T10:00:00Z"), "to")
      const backwards = { from: "2027-04-20T00:00:00Z", to: "2027-04-19T00:00:00Z" }
      assert.strictEqual(getParameter(yield* Effect.flip(totals(backwards))), "to")
      const start = Date.parse("2027-04-19T00:00:00Z")
      const end = (length: number, extra: number) => new Date(start + 1_000 * length + extra).toISOString()
      const from = new Date(start).toISOString()
      assert.strictEqual((yield* subscription.series("hour", { from, to: end(hourMs, 0) })).data.length, 1_000)
      assert.strictEqual((yield* subscription.series("day", { from, to: end(dayMs, 0) })).data.length, 1_000)
      assert.strictEqual(yield* refuse("hour", from, end(hourMs, 1)), "from")
      assert.strictEqual(yield* refuse("day", from, end(dayMs, 1)), "from")
      assert.strictEqual(getParameter(yield* Effect.flip(totals({ from, to: end(dayMs, 1) }))), "from")
      // 1,000 months are 83 years and 4 months.
      const months = yield* subscription.series("period", {
        from: "2027-04-20T10:30:00Z",
        to: "2110-08-20T10:30:00Z"
      })
      assert.strictEqual(months.data.length, 1_000)
      assert.strictEqual(yield* refuse("period", "2027-04-20T10:30:00Z", "2110-08-20T10:30:01Z"), "from")
      // The requested range counts, not what is left of it.
      assert.strictEqual(yield* refuse("hour", "2027-01-20T00:00:00Z", "2027-04-20T10:30:00Z"), "from")
      assert.strictEqual(yield* refuse("day", "2020-01-01T00:00:00Z", "2027-04-20T10:30:00Z"), "from")
    }).pipe(startAt("2027-04-20T10:30:00Z"))
  )

  it.effect("keeps hours for 8 days and days for 400, and moves the start of a range up to them", () =>
    Effect.gen(function* () {
      const { subscribe, totals } = yield* setUp()
      const subscription = yield* subscribe()
      const start = Date.parse("2027-01-01T12:30:00Z")
      yield* subscription.consume({ requests: 5 })
      yield* TestClock.setTime(start + hourMs)
      yield* subscription.consume({ requests: 6 })
      yield* TestClock.setTime(start + 8 * dayMs)
      yield* subscription.consume({ requests: 7 })
      const hours = { from: "2027-01-01T00:00:00Z" }
      const kept = yield* subscription.series("hour", hours)
      assert.deepStrictEqual(getBounds(kept), ["2027-01-01T12:00:00.000Z", "2027-01-09T13:00:00.000Z", 193])
      assert.deepStrictEqual(used(kept), {
        "2027-01-01T12:00": { requests: 5 },
        "2027-01-01T13:00": { requests: 6 },
        "2027-01-09T12:00": { requests: 7 }
      })
      yield* TestClock.setTime(start + 8 * dayMs + hourMs)
      const moved = yield* subscription.series("hour", hours)
      assert.strictEqual(moved.from, "2027-01-01T13:00:00.000Z")
      assert.deepStrictEqual(Object.keys(used(moved)), ["2027-01-01T13:00", "2027-01-09T12:00"])
      const past = { from: "2026-12-20T00:00:00Z", to: "2026-12-21T00:00:00Z" }
      assert.deepStrictEqual(getBounds(yield* subscription.series("hour", past)), [
        past.to.replace("Z", ".000Z"),
        past.to.replace("Z", ".000Z"),
        0
      ])
      yield* TestClock.setTime(start + 399 * dayMs)
      yield* subscription.consume({ tokens: 1 })
      for (const [day, expected] of [
        [400, 18],
        [401, 7]
      ] as const) {
        yield* TestClock.setTime(start + day * dayMs)
        // The first use on another day removes the months that are not kept.
        yield* subscription.consume({ tokens: 1 })
        const range = { from: "2026-12-01T00:00:00Z" }
        const days = yield* subscription.series("day", range)
        assert.strictEqual(days.data.length, 401)
        assert.strictEqual(Date.parse(days.from), Date.parse("2027-01-01T00:00:00Z") + (day - 400) * dayMs)
        assert.strictEqual(sum(days), expected)
        assert.deepStrictEqual((yield* totals(range)).data, days.data)
      }
      yield* subscription.consume({ requests: 9 })
      yield* TestClock.setTime(start + 440 * dayMs)
      yield* subscription.consume({ requests: 10 })
      assert.strictEqual(sum(yield* subscription.series("day", { from: "2027-01-01T00:00:00Z" })), 19)
      assert.strictEqual(sum(yield* subscription.series("period")), 37)
    }).pipe(startAt("2027-01-01T12:30:00Z"))
  )

  it.effect("shows meters that the plan has dropped, and knows no others", () =>
    Effect.gen(function* () {
      const { subscribe, setMaxima, totals } = yield* setUp({ requests: 100, constructor: 100, "-1": 100 })
      const subscription = yield* subscribe()
      yield* subscription.consume({ requests: 5, constructor: 6 })
      yield* setMaxima({ "-1": 100 })
      for (const time of ["2027-01-01T12:30:00Z", "2027-01-02T12:30:00Z", "2027-02-03T12:30:00Z"]) {
        yield* setTime(time)
        yield* subscription.consume({ "-1": 1 })
        const range = { from: "2027-01-01T00:00:00Z", to: "2027-01-02T00:00:00Z" }
        const expected = { requests: 5, constructor: 6, "-1": 1 }
        assert.deepStrictEqual((yield* subscription.series("day", range)).data[0]?.meters, expected)
        assert.deepStrictEqual((yield* totals(range)).data[0]?.meters, expected)
        assert.deepStrictEqual(
          (yield* subscription.series("day", { ...range, meter: "constructor" })).data[0]?.meters,
          { constructor: 6 }
        )
        assert.deepStrictEqual((yield* totals({ ...range, meter: "requests" })).data[0]?.meters, { requests: 5 })
        assert.strictEqual((yield* subscription.series("hour")).data[0]?.meters["constructor"], 0)
        const periods = yield* subscription.series("period", { from: "2027-01-01T12:30:00Z" })
        assert.strictEqual(periods.data[0]?.meters["constructor"], 6)
      }
      for (const meter of ["tokens", "toString", "__proto__"]) {
        assert.strictEqual((yield* Effect.flip(subscription.series("day", { meter })))._tag, "UnknownMeter")
        assert.strictEqual((yield* Effect.flip(totals({ meter })))._tag, "UnknownMeter")
      }
    }).pipe(startAt("2027-01-01T12:30:00Z"))
  )

  it.effect("adds up for a whole metering bucket", () =>
    Effect.gen(function* () {
      const { subscribe, totals, record } = yield* setUp()
      const subscriptions = [yield* subscribe(), yield* subscribe({ customerKey: "bob" }), yield* subscribe()]
      for (let round = 1; round <= 12; round++) {
        for (const [index, subscription] of subscriptions.entries()) {
          yield* subscription.consume({ requests: round, tokens: index + 1 })
          const { id } = yield* subscription.reserve({ tokens: 100 }, 3_600)
          yield* TestClock.adjust("25 minutes")
          if (round % 3 === 0) yield* subscription.release(id)
          else yield* subscription.settle(id, { tokens: round })
        }
        yield* record("bob", { requests: 1_000 })
        yield* TestClock.adjust("5 hours")
      }
      const series = yield* Effect.forEach(subscriptions, (subscription) => subscription.series())
      const { data } = yield* totals()
      assert.deepStrictEqual(
        data.map(({ meters }) => meters),
        data.map((_, index) => {
          const add = (meter: string) =>
            series.reduce((total, { data }) => total + (data[index]?.meters[meter] ?? 0), 0)
          return { requests: add("requests"), tokens: add("tokens") }
        })
      )
      assert.strictEqual(
        data.reduce((total, { meters }) => total + (meters["requests"] ?? 0), 0),
        3 * 78 + 12_000
      )
      yield* Effect.forEach(subscriptions, ({ remove }) => remove)
      assert.deepStrictEqual((yield* totals()).data, data)
    }).pipe(startAt("2027-01-30T23:30:00Z"))
  )

  it.effect("of a subscription that an earlier release counted starts now, but its period is whole", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp()
      const subscription = yield* subscribe()
      const counter = `usage:${subscription.id}:requests:${Date.parse("2027-03-14T09:30:00Z")}`
      const change = { _tag: "Add", counter, by: 40, ttl: 60 * dayMs } as const
      yield* (yield* Store).commit(Partition.forMeteringBucket(bucketId), [change])
      yield* setTime("2027-03-20T10:00:00Z")
      const sums = Effect.map(
        Effect.forEach(["hour", "day", "period"] as const, (step) => subscription.series(step)),
        (series) => series.map((steps) => sum(steps))
      )
      assert.deepStrictEqual(yield* sums, [0, 0, 40])
      yield* subscription.consume({ requests: 2 })
      assert.deepStrictEqual(yield* sums, [2, 2, 42])
      assert.strictEqual((yield* subscription.usedQuotas)["requests"], 42)
      yield* setTime("2027-06-20T10:00:00Z")
      assert.strictEqual(sum(yield* subscription.series("period")), 42)
      yield* subscription.consume({ requests: 3 })
      assert.strictEqual(sum(yield* subscription.series("period")), 45)
      assert.strictEqual(sum(yield* subscription.series("day", { from: "2027-03-14T00:00:00Z" })), 5)
    }).pipe(startAt("2027-03-14T09:30:00Z"))
  )

  it.effect("is in the present hour and period also after a replay, which counts nothing", () =>
    Effect.gen(function* () {
      const { subscribe } = yield* setUp()
      const subscription = yield* subscribe()
      yield* subscription.consume({ requests: 1 }, "once")
      yield* setTime("2027-03-14T10:00:00Z")
      yield* subscription.consume({ requests: 1 }, "once")
      yield* subscription.consume({ requests: 2 })
      assert.deepStrictEqual(used(yield* subscription.series("hour")), {
        "2027-03-14T09:00": { requests: 1 },
        "2027-03-14T10:00": { requests: 2 }
      })
      yield* setTime("2027-04-14T09:29:59Z")
      yield* subscription.consume({ requests: 4 }, "last")
      yield* setTime("2027-04-14T09:30:00Z")
      yield* subscription.consume({ requests: 4 }, "last")
      yield* subscription.consume({ requests: 8 })
      yield* setTime("2027-06-14T09:30:00Z")
      yield* subscription.consume({ requests: 16 })
      assert.deepStrictEqual(used(yield* subscription.series("period")), {
        "2027-03-14T09:30": { requests: 7 },
        "2027-04-14T09:30": { requests: 8 },
        "2027-06-14T09:30": { requests: 16 }
      })
      assert.strictEqual(sum(yield* subscription.series("day", { from: "2027-03-01T00:00:00Z" })), 31)
    }).pipe(startAt("2027-03-14T09:30:00Z"))
  )

  it.effect("is the same for a process whose clock is some seconds behind", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe, totals } = yield* setUp()
      const behind = yield* subscribe()
      const ahead = yield* (yield* startProcess(5_000))(bucketId, behind.id)
      yield* behind.consume({ requests: 1 })
      const { id } = yield* behind.reserve({ tokens: 10 })
      // The other process begins the next day.
      yield* setTime("2027-03-14T23:59:57Z")
      yield* ahead.consume({ requests: 2 })
      yield* behind.consume({ requests: 4 })
      yield* behind.settle(id, { tokens: 8 })
      const days = { from: "2027-03-14T00:00:00Z", to: "2027-03-16T00:00:00Z" }
      const expected = {
        "2027-03-14T00:00": { requests: 1, tokens: 8 },
        "2027-03-15T00:00": { requests: 6 }
      }
      assert.deepStrictEqual(used(yield* behind.series("day", days)), expected)
      assert.deepStrictEqual(used(yield* totals(days)), expected)
      assert.deepStrictEqual(used(yield* ahead.series("hour")), {
        "2027-03-14T23:00": { requests: 1, tokens: 8 },
        "2027-03-15T00:00": { requests: 6 }
      })
    }).pipe(startAt("2027-03-14T23:59:30Z"))
  )

  it.effect("loses nothing when two processes count at once from hour to hour", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe, totals } = yield* setUp()
      const here = yield* subscribe()
      const there = yield* (yield* startProcess())(bucketId, here.id)
      for (let hour = 0; hour < 6; hour++) {
        const reserved = yield* there.reserve({ tokens: 5 }, 3_600)
        yield* TestClock.adjust("30 minutes")
        yield* Effect.all(
          [
            ...Array.from({ length: 10 }, () => [here.consume(), there.consume({ requests: 1, tokens: 1 })]).flat(),
            here.settle(reserved.id, { tokens: 3 })
          ],
          { concurrency: "unbounded" }
        )
      }
      assert.deepStrictEqual(yield* here.usedQuotas, { requests: 120, tokens: 78 })
      for (const step of ["hour", "day", "period"] as const) {
        const series = yield* there.series(step)
        assert.deepStrictEqual([sum(series), sum(series, "tokens")], [120, 78], step)
      }
      assert.strictEqual(sum(yield* totals(), "tokens"), 78)
    }).pipe(startAt("2027-03-14T21:45:00Z"))
  )
})
