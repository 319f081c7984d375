/**
 * Random use of a subscription by two processes, compared with a model: a list of what was used when.
 */
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import { stores } from "./stores.ts"
import {
  type Amounts,
  dayMs,
  hourMs,
  type Series,
  setUp,
  startOn,
  startProcess,
  sum,
  type UsedSubscription,
  used
} from "./usageServices.ts"

/** Seeded, so that a failure can be repeated. */
const makeRandom = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

interface UsageEvent {
  readonly time: number
  readonly meters: Amounts
}

interface OpenReservation extends UsageEvent {
  readonly id: string
  readonly expiresAt: number
}

/** What a subscription has used, and what it holds. */
class UsageModel {
  readonly events: Array<UsageEvent> = []
  reservations: ReadonlyArray<OpenReservation> = []

  sumBetween(meter: string, start: number, end: number): number {
    return this.events.reduce(
      (total, { time, meters }) => total + (time >= start && time < end ? (meters[meter] ?? 0) : 0),
      0
    )
  }

  sumHeld(meter: string, start: number, end: number, now: number): number {
    return this.reservations.reduce(
      (total, { time, expiresAt, meters }) =>
        total + (time >= start && time < end && expiresAt > now ? (meters[meter] ?? 0) : 0),
      0
    )
  }

  /** Removes a reservation. Returns it if it has not expired. */
  take(index: number, now: number): OpenReservation | undefined {
    const taken = this.reservations[index]
    this.reservations = this.reservations.filter((reservation) => reservation !== taken)
    return taken !== undefined && taken.expiresAt > now ? taken : undefined
  }
}

/** `calls` and `jobs` have other periods than the subscription. */
const meters = ["requests", "tokens", "calls", "jobs"] as const
const otherPeriods = { calls: { max: 1e9, period: "hour" }, jobs: { max: 1e9, period: "week" } } as const
const limits = { requests: { max: 1e9 }, tokens: { max: 1e9 }, ...otherPeriods } as const

/** The series with the amounts of the model. */
const predict = (model: UsageModel, series: Series, only?: string): Series => ({
  ...series,
  data: series.data.map(({ start, end }) => ({
    start,
    end,
    meters: Object.fromEntries(
      meters.flatMap((meter) =>
        only !== undefined && meter !== only
          ? []
          : [[meter, model.sumBetween(meter, Date.parse(start), Date.parse(end))]]
      )
    )
  }))
})

/** Of hours, the last 400 are kept. */
const recent = (to: string) => ({ from: new Date(Date.parse(to) - 15 * dayMs).toISOString() })

const isGapless = ({ from, to, data }: Series) =>
  [...data, { start: to }].every(({ start }, index) => start === (data[index - 1]?.end ?? from))

interface Run {
  readonly seed: number
  readonly operations: number
  readonly record: (meters: Amounts) => Effect.Effect<unknown, unknown>
  readonly adjust: (meter: string, amount: number, occurredAt: number) => Effect.Effect<unknown, unknown>
  readonly model: UsageModel
  readonly check: Effect.Effect<void, unknown>
  readonly maxJumpMs: number
}

/** Lets processes, each with its lead over the clock, use a subscription at random. */
const useRandomly = Effect.fnUntraced(function* (
  processes: ReadonlyArray<readonly [UsedSubscription, number]>,
  { seed, operations, record, adjust, model, check, maxJumpMs }: Run
) {
  const random = makeRandom(seed)
  const latest = Math.max(...processes.map(([, ahead]) => ahead))
  /** Ends a reservation. Returns `false` if a process whose clock is ahead has given it back before. */
  const end = Effect.fnUntraced(function* (reservation: OpenReservation, ending: Effect.Effect<unknown, unknown>) {
    const exit = yield* Effect.exit(ending)
    const hasExpiredElsewhere = reservation.expiresAt <= DateTime.toEpochMillis(yield* DateTime.now) + latest
    if (Exit.isFailure(exit) && !hasExpiredElsewhere) yield* exit
    return Exit.isSuccess(exit)
  })
  const jumps = [1_000, 90_000, 20 * 60_000, hourMs, 5 * hourMs, dayMs, 9 * dayMs, 40 * dayMs, 800 * dayMs]
  for (let operation = 0; operation < operations; operation++) {
    if (random(3) === 0) {
      const jump = random((jumps[random(random(3) === 0 ? jumps.length : 5)] ?? 0) + 1)
      yield* TestClock.adjust(Math.min(jump, maxJumpMs))
    }
    const [subscription, ahead] = processes[random(processes.length)] ?? [undefined, 0]
    if (subscription === undefined) continue
    const time = DateTime.toEpochMillis(yield* DateTime.now) + ahead
    const amount = 1 + random(50)
    const amounts: Amounts = {
      [meters[random(meters.length)] ?? "tokens"]: amount,
      ...(random(2) === 0 ? { tokens: amount } : {}),
      ...(random(4) === 0 ? { calls: amount } : {})
    }
    switch (random(7)) {
      case 0:
      case 1:
        yield* subscription.consume(amounts)
        model.events.push({ time, meters: amounts })
        break
      case 2:
        if (ahead !== 0) break
        yield* record(amounts)
        model.events.push({ time, meters: amounts })
        break
      case 3: {
        const expiresIn = 1 + random(3_600)
        const { id } = yield* subscription.reserve(amounts, expiresIn)
        const reservation = { id, time, meters: amounts, expiresAt: time + expiresIn * 1_000 }
        model.reservations = [...model.reservations, reservation]
        break
      }
      case 4: {
        const taken = model.take(random(model.reservations.length), time)
        if (taken === undefined) break
        const settled = Object.fromEntries(
          Object.entries(taken.meters).map(([meter, reserved]) => [meter, random(reserved + 1)])
        )
        if (yield* end(taken, subscription.settle(taken.id, settled))) {
          model.events.push({ time: taken.time, meters: settled })
        }
        break
      }
      case 5: {
        if (ahead !== 0) break
        // Somewhere in the present period of the meter with the shortest one, or now.
        const occurredAt = random(2) === 0 ? time : time - (time % hourMs)
        const earliest = model.events.find(({ time }) => time >= occurredAt)
        const by = random(2) === 0 || earliest === undefined ? amount : -1
        const meter =
          by < 0 ? Object.keys(earliest?.meters ?? {}).find((name) => (earliest?.meters[name] ?? 0) > 0) : "calls"
        if (meter === undefined) break
        const exit = yield* Effect.exit(adjust(meter, by, occurredAt))
        if (Exit.isSuccess(exit)) model.events.push({ time: occurredAt, meters: { [meter]: by } })
        else if (by > 0) yield* exit
        break
      }
      default: {
        const taken = model.take(random(model.reservations.length), time)
        if (taken !== undefined) yield* end(taken, subscription.release(taken.id))
      }
    }
    if (operation % 10 === 0) yield* check
  }
  yield* check
})

const subscriptionsToTry = [
  { quotaResetAnchor: "2027-01-31T10:17:23.456Z", renewalStrategy: "monthly" },
  { quotaResetAnchor: "2024-02-29T23:30:00.000Z", renewalStrategy: "yearly" },
  { quotaResetAnchor: "2027-01-01T00:00:00.000Z", renewalStrategy: "monthly" }
] as const

describe.each(stores)("random use of a subscription, on %s", (_, store) => {
  const startAt = startOn(store)

  it.effect.each(subscriptionsToTry)(
    "by two processes is exact in every hour, day and period ($renewalStrategy from $quotaResetAnchor)",
    ({ quotaResetAnchor, renewalStrategy }) =>
      Effect.gen(function* () {
        const { bucketId, subscribe, record, adjust, totals, exported, updatePlan } = yield* setUp()
        yield* updatePlan({ meters: limits })
        const here = yield* subscribe({ quotaResetAnchor: DateTime.makeUnsafe(quotaResetAnchor), renewalStrategy })
        const there = yield* (yield* startProcess())(bucketId, here.id)
        const model = new UsageModel()
        const check = Effect.gen(function* () {
          const now = DateTime.toEpochMillis(yield* DateTime.now)
          const ranges = [
            ["hour", 8 * dayMs, undefined],
            ["day", 400 * dayMs, undefined],
            ["period", 1_200 * dayMs, "requests"],
            ["period", 1_200 * dayMs, "tokens"],
            ["period", 16 * dayMs, "calls"],
            ["period", 400 * 7 * dayMs, "jobs"]
          ] as const
          for (const [step, length, meter] of ranges) {
            const range = { from: new Date(now - length).toISOString(), ...(meter === undefined ? {} : { meter }) }
            const series = yield* here.series(step, range)
            assert.isTrue(isGapless(series))
            assert.deepStrictEqual(used(series), used(predict(model, series, meter)), `${step} ${meter}`)
            if (step === "day") {
              const { data } = yield* totals({ from: series.from })
              assert.deepStrictEqual(used({ ...series, data }), used(series), "totals")
            }
          }
          for (const before of [0, 31 * dayMs]) {
            const month = new Date(now - before).toISOString().slice(0, 7)
            const start = new Date(`${month}-01T00:00:00Z`)
            const end = new Date(start).setUTCMonth(start.getUTCMonth() + 1)
            const sums = meters.map((meter) => [meter, model.sumBetween(meter, start.getTime(), end)] as const)
            assert.deepStrictEqual(
              yield* exported(month),
              Object.fromEntries(sums.filter(([, sum]) => sum !== 0)),
              month
            )
          }
          const quotas = yield* there.usedQuotas
          for (const meter of meters) {
            const current = (yield* there.series("period", { meter })).data.at(-1)
            const [start, end] = [Date.parse(current?.start ?? ""), Date.parse(current?.end ?? "")]
            assert.strictEqual(
              quotas[meter],
              (current?.meters[meter] ?? 0) + model.sumHeld(meter, start, end, now),
              "quota"
            )
          }
        })
        const processes = [here, there].map((subscription) => [subscription, 0] as const)
        yield* useRandomly(processes, {
          seed: quotaResetAnchor.length + renewalStrategy.length,
          operations: 200,
          record: (amounts) => record("alice", amounts),
          adjust: (meter, amount, occurredAt) => adjust("alice", meter, amount, occurredAt),
          model,
          check,
          maxJumpMs: 800 * dayMs
        })
      }).pipe(startAt("2027-01-31T10:17:23.456Z"))
  )

  it.effect.each([
    ["7 seconds", 7_000],
    ["9 minutes", 9 * 60_000],
    ["3 days", 3 * dayMs],
    ["minus 40 days", -40 * dayMs]
  ] as const)("by a process whose clock is ahead by %s loses nothing and counts nothing twice", ([, ahead]) =>
    Effect.gen(function* () {
      const { bucketId, subscribe, record, adjust, totals, updatePlan } = yield* setUp()
      yield* updatePlan({ meters: limits })
      const here = yield* subscribe()
      const there = yield* (yield* startProcess(ahead))(bucketId, here.id)
      const model = new UsageModel()
      const check = Effect.gen(function* () {
        const to = new Date(DateTime.toEpochMillis(yield* DateTime.now) + Math.max(0, ahead) + 1).toISOString()
        const range = { from: "2026-12-01T00:00:00Z", to }
        const days = yield* here.series("day", range)
        for (const meter of meters) {
          const periods = yield* here.series("period", {
            ...range,
            meter,
            ...(meter === "calls" ? recent(range.to) : {})
          })
          assert.deepStrictEqual(used(periods), used(predict(model, periods, meter)), meter)
        }
        assert.deepStrictEqual(used(yield* totals(range)), used(days))
        for (const meter of meters) {
          assert.strictEqual(sum(days, meter), model.sumBetween(meter, 0, Number.POSITIVE_INFINITY), meter)
        }
      })
      yield* useRandomly(
        [
          [here, 0],
          [there, ahead]
        ],
        {
          seed: ahead,
          operations: 200,
          record: (amounts) => record("alice", amounts),
          adjust: (meter, amount, occurredAt) => adjust("alice", meter, amount, occurredAt),
          model,
          check,
          maxJumpMs: 3 * dayMs
        }
      )
    }).pipe(startAt("2027-01-31T10:17:23.456Z"))
  )
})
