/**
 * Random use, changes of what remains, and alerts of a customer by two processes, compared with a simple model after every step.
 */
import { assert, describe, it } from "@effect/vitest"
import { type AlertCondition, Customers, Grants, Tollgate } from "@tollgate/core/effect"
import { Store } from "@tollgate/store"
import { Partition } from "@tollgate/store/internal"
import { DateTime, Effect, Layer, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import { sweepAlerts } from "../src/metering/alerts/sweepAlerts.ts"
import * as Period from "../src/metering/model/Period.ts"
import { outboxRecords } from "../src/outbox/outboxRecords.ts"
import { useAlerts } from "./alertServices.ts"
import { secret, stores } from "./stores.ts"
import { dayMs, setUp, startOn } from "./usageServices.ts"

/** Seeded, so that a failure can be repeated. */
const makeRandom = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

type Condition = typeof AlertCondition.Type

interface ModelAlert {
  readonly id: string
  readonly when: Condition
  /** In the period; for what remains, since it was above. */
  isReached: boolean
  triggered: number
}

/** Use takes the allowance, then credit. What is reserved is not used yet. */
class AlertModel {
  alerts: Array<ModelAlert> = []
  ofPlans = 0
  ofCredit = 0
  credit = 0
  held = 0
  max: number
  constructor(max: number) {
    this.max = max
  }
  get remaining() {
    return Math.max(0, this.max - this.ofPlans) + this.credit
  }
  canTake(amount: number) {
    return amount <= Math.max(0, this.max - this.ofPlans - this.held) + this.credit
  }
  use(amount: number) {
    const ofPlans = Math.min(amount, Math.max(0, this.max - this.ofPlans))
    this.ofPlans += ofPlans
    this.ofCredit += amount - ofPlans
    this.credit -= amount - ofPlans
  }
  isReached({ used, usedShare, remaining, overage }: Condition) {
    const all = this.ofPlans + this.ofCredit
    if (used !== undefined) return all >= used
    if (remaining !== undefined) return this.remaining <= remaining
    if (overage !== undefined) return this.ofPlans - this.max >= overage
    return this.max > 0 && all * 100 >= this.max * Math.round((usedShare ?? 0) * 100)
  }
  /** Looks at all alerts. Returns those that are triggered. */
  look() {
    const triggered = new Set<string>()
    for (const alert of this.alerts) {
      const isReached = this.isReached(alert.when)
      if (isReached && !alert.isReached) {
        triggered.add(alert.id)
        alert.triggered++
      }
      alert.isReached = alert.when.remaining === undefined ? alert.isReached || isReached : isReached
    }
    return triggered
  }
  beginPeriod() {
    this.ofPlans = 0
    this.ofCredit = 0
    for (const alert of this.alerts) if (alert.when.remaining === undefined) alert.isReached = false
    return this.look()
  }
}

const start = "2027-01-31T10:17:23.456Z"
const overrides = [10, 25, 40, 60]

describe.each(stores)("alerts, on %s", (_, store) => {
  it.effect.each([
    ["reservations", 1],
    ["reservations", 2],
    ["credit", 3],
    ["credit", 4]
  ] as const)(
    "are triggered as a model says after every step, with %s, seed %i",
    ([mode, seed]) =>
      Effect.gen(function* () {
        const random = makeRandom(seed)
        const pick = <A>(items: ReadonlyArray<A>): A => items[random(items.length)] as A
        const { bucketId, subscribe } = yield* setUp({ tokens: 40 })
        const anchor = DateTime.makeUnsafe(start)
        const { update } = yield* subscribe({ quotaResetAnchor: anchor })
        const context = yield* Layer.build(Layer.fresh(Tollgate.layer({ secret, background: false })))
        const params = { bucketId, customerKey: "alice" }
        const useProcess = Effect.gen(function* () {
          return { customers: yield* Customers, grants: yield* Grants, alerts: yield* useAlerts(bucketId) }
        })
        const processes = [yield* useProcess, yield* Effect.provideContext(useProcess, context)]
        const sweep = Effect.flatMap(DateTime.now, (now) => sweepAlerts(bucketId, now))
        const model = new AlertModel(40)
        const seen = new Map<string, string>()
        const open: Array<{ readonly id: string; readonly amount: number }> = []
        const removed: Array<ModelAlert> = []
        const counts: Record<string, number> = {}
        let period = ""
        const jump = Effect.gen(function* () {
          // Reservations do not expire here.
          yield* TestClock.adjust(1 + (open.length > 0 ? 0 : random(random(4) === 0 ? 20 * dayMs : 1_000)))
          const present = Period.periodAt(anchor, "monthly", yield* DateTime.now).start
          const isNew = period !== "" && period !== DateTime.formatIso(present)
          period = DateTime.formatIso(present)
          return isNew ? model.beginPeriod() : new Set<string>()
        })

        for (let step = 0; step < 200; step++) {
          const { customers, grants, alerts } = pick(processes)
          const kinds = ["consume", "consume", "consume", "consume", "override", "create", "remove"]
          const kind = pick([...kinds, ...(mode === "credit" ? ["grant"] : ["reserve", "settle", "settle", "adjust"])])
          const amount = 1 + random(9)
          const triggered = new Set(yield* jump)
          // What no count notices, the background work does.
          const isNoticed = ["consume", "settle", "adjust", "create"].includes(kind)
          if (!isNoticed) yield* sweep
          switch (kind) {
            case "consume": {
              const result = yield* Effect.result(
                customers.consume({ params, payload: { meters: { tokens: amount } } })
              )
              assert.strictEqual(Result.isSuccess(result), model.canTake(amount), `step ${step}: ${kind} ${amount}`)
              if (Result.isSuccess(result)) model.use(amount)
              break
            }
            case "reserve": {
              if (!model.canTake(amount)) break
              const payload = { meters: { tokens: amount }, expiresIn: 3_600 }
              const { value } = yield* customers.reserve({ params, payload })
              open.push({ id: value.id, amount })
              model.held += amount
              break
            }
            case "settle": {
              const [reservation] = open.splice(random(open.length), 1)
              if (reservation === undefined) break
              const used = random(reservation.amount + 1)
              const path = { ...params, reservationId: reservation.id }
              yield* customers.settle({ params: path, payload: { meters: { tokens: used } } })
              model.held -= reservation.amount
              // Also if an override is smaller since.
              model.ofPlans += used
              break
            }
            case "adjust": {
              const by = Math.max(-model.ofPlans, random(2) === 0 ? amount : -amount)
              if (by === 0) break
              yield* customers.adjust({ params, payload: { meter: "tokens", amount: by, reason: "test" } })
              model.ofPlans += by
              break
            }
            case "override": {
              const max = pick(overrides)
              yield* update({ overrides: { meters: { tokens: { max } } } })
              model.max = max
              break
            }
            case "grant":
              yield* grants.create({ params, payload: { meter: "tokens", amount } })
              model.credit += amount
              break
            case "create": {
              if (model.alerts.length === 8) break
              const when = pick([
                { used: 1 + random(40) },
                { remaining: random(20) },
                { usedShare: pick([0.29, 0.5, 0.8, 1, 1.3]) },
                { overage: 1 + random(10) }
              ])
              const { id } = yield* alerts.create("tokens", when)
              const isReached = "remaining" in when && model.isReached(when)
              model.alerts.push({ id, when, isReached, triggered: 0 })
              break
            }
            case "remove": {
              const [alert] = model.alerts.splice(random(model.alerts.length), 1)
              if (alert === undefined) break
              yield* alerts.remove(alert.id)
              removed.push(alert)
            }
          }
          for (const id of model.look()) triggered.add(id)
          if (!isNoticed) yield* sweep
          const { data } = yield* pick(processes).alerts.list()
          const found = data.filter(
            ({ id, lastTriggeredOn: time }) => time && seen.get(id) !== DateTime.formatIso(time)
          )
          const expected = model.alerts.filter(({ id }) => triggered.has(id))
          assert.deepStrictEqual(
            found.map(({ id, when }) => ({ id: String(id), when })),
            expected.map(({ id, when }) => ({ id, when })),
            `seed ${seed}, step ${step}, ${kind} ${amount}: ${JSON.stringify({ ...model, alerts: undefined })}`
          )
          for (const { id, when, lastTriggeredOn } of found) {
            if (lastTriggeredOn !== undefined) seen.set(id, DateTime.formatIso(lastTriggeredOn))
            for (const name of Object.keys(when)) counts[name] = (counts[name] ?? 0) + 1
          }
        }
        // No event twice, and none is missing.
        const events = yield* outboxRecords
          .stream(Partition.forMeteringBucket(bucketId), { pageSize: 1_000 })
          .pipe(Stream.runCollect, Effect.provideService(Store, yield* Store))
        const ids = events.flatMap(({ value }) => (value.type === "alert.triggered" ? [value.subject.id] : []))
        for (const { id, triggered, when } of [...model.alerts, ...removed]) {
          assert.strictEqual(ids.filter((each) => each === id).length, triggered, JSON.stringify(when))
        }
        for (const name of ["used", "usedShare", "remaining"]) assert.isAbove(counts[name] ?? 0, 0, name)
      }).pipe(startOn(store)(start, { background: false })),
    600_000
  )
})
