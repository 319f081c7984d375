/**
 * Periods that are closed by several processes, by one that dies at any of its store calls, and while something happens at any
 * of them; and random months, compared with the usage history.
 */
import { assert, describe, it } from "@effect/vitest"
import { Customers, Grants, type Reservations, Subscriptions, Usage, type UsageHistory } from "@tollgate/core/effect"
import { Partition, Store } from "@tollgate/store/internal"
import { type Fault, makeFaultyStore } from "@tollgate/store-testkit"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { ClosedPeriod } from "../src/metering/model/ClosedPeriod.ts"
import * as Period from "../src/metering/model/Period.ts"
import { closePeriods } from "../src/metering/periods/closePeriods.ts"
import { persistDueChanges } from "../src/metering/subscriptions/persistDueChanges.ts"
import { outboxRecords } from "../src/outbox/outboxRecords.ts"
import { stores } from "./stores.ts"
import { hourMs, setUp, startOn, type UsedSubscription, useSubscription } from "./usageServices.ts"

const start = "2027-01-01T00:00:00Z"
const quotaResetAnchor = DateTime.makeUnsafe(start)

type Data = typeof ClosedPeriod.Encoded

/** The events of periods, oldest first. */
const readEvents = Effect.fnUntraced(function* (bucketId: string) {
  const { entries } = yield* outboxRecords.page(Partition.forMeteringBucket(bucketId), { offset: 0, limit: 10_000 })
  return entries.flatMap(({ value: { type, data } }) =>
    type.startsWith("period.") ? [{ type, data: data as unknown as Data }] : []
  )
})

/** What is told of each period in the end, after checking that its events are complete and in order. */
const reduceEvents = (events: ReadonlyArray<{ readonly type: string; readonly data: Data }>) => {
  const last = new Map<string, Data>()
  const starts = new Map<string, string>()
  for (const { type, data } of events) {
    assert.strictEqual(data.revision, (last.get(data.id)?.revision ?? 0) + 1, data.id)
    assert.strictEqual(type, data.revision === 1 ? "period.closed" : "period.corrected")
    if (data.revision === 1) {
      const series = `${data.id.split(":")[0]} ${data.period}`
      assert.isTrue(data.periodStart > (starts.get(series) ?? ""), "a period was closed before an earlier one")
      starts.set(series, data.periodStart)
    }
    last.set(data.id, data)
  }
  return last
}

const close = (bucketId: string) => Effect.flatMap(DateTime.now, (now) => closePeriods(bucketId, now))

/** Four subscriptions of which three periods are over. */
const openMissed = Effect.fnUntraced(function* () {
  const bucket = yield* setUp({ requests: 10 })
  const began = yield* DateTime.now
  const subscriptions: Array<UsedSubscription> = []
  for (let index = 0; index < 4; index++) {
    subscriptions.push(yield* bucket.subscribe({ customerKey: `c-${index}`, quotaResetAnchor: began }))
  }
  for (let month = 0; month < 3; month++) {
    for (const [index, subscription] of subscriptions.entries()) {
      if (index > 0) yield* subscription.consume({ requests: index })
    }
    yield* TestClock.adjust("31 days")
  }
  return { ...bucket, subscriptions }
})

/** The use that was told of each subscription, by month. */
const summarize = (events: ReadonlyArray<{ readonly type: string; readonly data: Data }>) => {
  const told = [...reduceEvents(events).values()]
  return [...Map.groupBy(told, ({ customerKey }) => customerKey)]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([, periods]) => periods.map(({ meters }) => meters["requests"]?.used ?? 0))
}

const expected = Array.from({ length: 4 }, (_, index) => [index, index, index])

describe.each(stores)("closing periods, on %s", (name, store) => {
  const startAt = startOn(store)
  const isServer = !["memory", "SQLite"].includes(name)
  const stride = isServer ? 5 : 1

  it.effect("writes each event once, whichever processes do it at the same time", () =>
    Effect.gen(function* () {
      const { bucketId } = yield* openMissed()
      yield* Effect.forEach([1, 2, 3, 4], () => close(bucketId), { concurrency: "unbounded" })
      const events = yield* readEvents(bucketId)
      assert.strictEqual(events.length, 12)
      assert.deepStrictEqual(summarize(events), expected)
    }).pipe(startAt(start, { background: false }))
  )

  it.effect.each([["fail"], ["lose-reply"]] as const)(
    "writes each event once, whichever store call of a process is its last (%s)",
    ([fault]) =>
      Effect.gen(function* () {
        const real = yield* Store
        for (let call = 1, isOver = false; !isOver; call += stride) {
          const { bucketId } = yield* openMissed()
          const faulty = makeFaultyStore(real)
          faulty.injectAt(call, fault as Fault)
          yield* Effect.ignore(Effect.provideService(close(bucketId), Store, faulty.store))
          isOver = faulty.calls() < call
          yield* close(bucketId)
          const events = yield* readEvents(bucketId)
          assert.strictEqual(events.length, 12, `call ${call}`)
          assert.deepStrictEqual(summarize(events), expected, `call ${call}`)
        }
      }).pipe(startAt(start, { background: false }))
  )

  it.effect("has all that others do at any of its store calls, in the event or in a correction", () =>
    Effect.gen(function* () {
      const real = yield* Store
      const usage = yield* Usage
      for (let call = 1, isOver = false; !isOver; call += stride) {
        const { bucketId, subscribe } = yield* setUp({ requests: 100 })
        const began = yield* DateTime.now
        const { end } = Period.periodAt(began, "monthly", began)
        const alice = yield* subscribe({ quotaResetAnchor: began })
        const bob = yield* subscribe({ quotaResetAnchor: began, customerKey: "bob" })
        yield* alice.consume({ requests: 1 })
        yield* bob.consume({ requests: 1 })
        yield* TestClock.setTime(DateTime.toEpochMillis(end) + hourMs)
        const faulty = makeFaultyStore(real)
        const late = (subject: string, requests: number) => ({
          ...{ specversion: "1.0", id: `${call}-${subject}`, source: "/test", type: "test", subject },
          ...{ time: DateTime.formatIso(DateTime.subtract(end, { hours: 1 })), data: { meters: { requests } } }
        })
        const others = Effect.gen(function* () {
          yield* usage.recordEvents({ params: { bucketId }, payload: [late("alice", 2), late("bob", 4)] })
          yield* bob.consume({ requests: 8 })
          yield* bob.remove
        })
        faulty.injectAt(call, {
          interleave: Effect.orDie(Effect.provideContext(others, yield* Effect.context<never>()))
        })
        yield* Effect.provideService(close(bucketId), Store, faulty.store)
        isOver = faulty.calls() < call
        if (isOver) break
        yield* TestClock.adjust("2 minutes")
        yield* close(bucketId)
        const told = [...reduceEvents(yield* readEvents(bucketId)).values()].map(
          ({ customerKey, periodStart, meters }) => [
            customerKey,
            periodStart < DateTime.formatIso(end) ? "first" : "second",
            meters["requests"]?.used
          ]
        )
        const sorted = told.sort((left, right) => (String(left) < String(right) ? -1 : 1))
        assert.deepStrictEqual(
          sorted,
          [
            ["alice", "first", 3],
            ["bob", "first", 5],
            ["bob", "second", 8]
          ],
          `call ${call}`
        )
      }
    }).pipe(startAt(start, { background: false }))
  )

  const seeds = isServer ? [1] : [1, 2, 3, 4]
  it.effect.each(seeds.map((seed) => [seed] as const))(
    "tells in the end what the history has, after random months (seed %i)",
    ([seed]) =>
      Effect.gen(function* () {
        let state = seed
        const below = (limit: number): number => {
          state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
          return Math.floor((state / 2 ** 32) * limit)
        }
        const { bucketId, updatePlan, subscribe, createPlan } = yield* setUp({ requests: 20 })
        yield* updatePlan({ meters: { requests: { max: 20, isSoftLimit: true } } })
        yield* createPlan("pro", { requests: 500 })
        const [customers, grants, subscriptions, usage] = [
          yield* Customers,
          yield* Grants,
          yield* Subscriptions,
          yield* Usage
        ]
        const customerKey = "alice"
        const params = { bucketId, customerKey }
        const first = yield* subscribe({ quotaResetAnchor })
        let current = first
        const reservations: Array<readonly [UsedSubscription, string]> = []
        const now = DateTime.now
        type Services = Store | Reservations | Subscriptions | Usage | UsageHistory
        const operations: ReadonlyArray<() => Effect.Effect<unknown, unknown, Services>> = [
          () => current.consume({ requests: 1 + below(9) }),
          () => current.consume({ requests: 1 + below(9) }),
          () =>
            Effect.map(current.reserve({ requests: 1 + below(9) }, 60 + below(3_500)), ({ id }) =>
              reservations.push([current, id])
            ),
          () => {
            const [subscription, id] = reservations[below(Math.max(1, reservations.length))] ?? [current, ""]
            return subscription.settle(id, { requests: below(2) })
          },
          () =>
            Effect.flatMap(now, (time) =>
              usage.recordEvents({
                params: { bucketId },
                payload: [
                  {
                    ...{
                      specversion: "1.0",
                      id: `${seed}-${state}`,
                      source: "/test",
                      type: "test",
                      subject: customerKey
                    },
                    time: DateTime.formatIso(DateTime.subtract(time, { minutes: below(4_300) })),
                    data: { meters: { requests: 1 + below(5) } }
                  }
                ]
              })
            ),
          () => grants.create({ params, payload: { meter: "requests", amount: 1 + below(30) } }),
          () =>
            customers.changePlan({
              params,
              payload: { planExternalIds: [below(2) === 0 ? "plan" : "pro"], at: below(2) === 0 ? "now" : "period-end" }
            }),
          () => (below(3) === 0 ? customers.cancel({ params, payload: { at: "now" } }) : Effect.void),
          () => (below(3) === 0 ? customers.cancel({ params, payload: { at: "period-end" } }) : Effect.void),
          () =>
            Effect.gen(function* () {
              const { status } = (yield* subscriptions.get({
                params: { bucketId, subscriptionId: current.id }
              })).value
              if (status === "canceled") current = yield* subscribe({ customerKey, continueUsage: true })
            }),
          () => Effect.flatMap(now, (time) => persistDueChanges(bucketId, time)),
          () => close(bucketId)
        ]
        for (let step = 0; step < 250; step++) {
          const operation = operations[below(operations.length)]
          if (operation !== undefined) yield* Effect.ignore(operation())
          const hours = below(10) === 0 ? below(300) : below(3)
          yield* TestClock.adjust(`${hours * 60 + below(60)} minutes`)
        }
        for (let run = 0; run < 40; run++) {
          yield* Effect.flatMap(now, (time) => persistDueChanges(bucketId, time))
          yield* close(bucketId)
          yield* TestClock.adjust("1 day")
        }
        const events = yield* readEvents(bucketId)
        const last = [...reduceEvents(events).values()]
        assert.isAtLeast(last.length, 3)
        for (const { id, periodStart, periodEnd, meters } of last) {
          const subscription = yield* useSubscription(bucketId, id.split(":")[0] ?? "")
          const series = yield* subscription.series("period", { from: periodStart, to: periodEnd })
          const { used = 0, allowance = 0, credit = 0, overage = 0 } = meters["requests"] ?? {}
          assert.strictEqual(used, series.data[0]?.meters["requests"], `${id} of ${seed}`)
          assert.strictEqual(allowance + credit + overage, used)
        }
        // No grant was charged more or less than was told.
        const { data } = yield* grants.list({ params, query: { limit: 1_000, offset: 0 } })
        const given = data.reduce((sum, { used }) => sum + used, 0)
        const told = last.reduce((sum, { meters }) => sum + (meters["requests"]?.credit ?? 0), 0)
        assert.strictEqual(told, given, `credit of ${seed}`)
      }).pipe(startAt(start, { background: false })),
    isServer ? 120_000 : 60_000
  )
})
