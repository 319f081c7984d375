/**
 * A process that counts dies at any of its store calls, and another one goes on: each alert is triggered once. Or it was the last
 * to count for a week, and what it did not write is written then, of its own period.
 */
import { assert, describe, it } from "@effect/vitest"
import { Customers, Tollgate } from "@tollgate/core/effect"
import { Store, type StoreOperations } from "@tollgate/store"
import { Partition } from "@tollgate/store/internal"
import { type Fault, makeFaultyStore } from "@tollgate/store-testkit"
import { Context, DateTime, Deferred, Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { sweepAlerts } from "../src/metering/alerts/sweepAlerts.ts"
import { outboxRecords } from "../src/outbox/outboxRecords.ts"
import { useAlerts } from "./alertServices.ts"
import { secret, stores } from "./stores.ts"
import { setUp, startOn, sum } from "./usageServices.ts"

const start = "2027-03-14T09:30:00Z"
const conditions = [{ used: 5 }, { usedShare: 0.9 }, { remaining: 4 }]

const startProcess = (store: StoreOperations, bucketId: string) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      Layer.fresh(Tollgate.layer({ secret, background: false })).pipe(Layer.provide(Layer.succeed(Store, store)))
    )
    const customers = Context.get(context, Customers)
    const params = { bucketId, customerKey: "alice" }
    return {
      consume: (requests: number, idempotencyKey: string) =>
        customers.consume({ params, headers: { idempotencyKey }, payload: { meters: { requests } } })
    }
  })
type Process = Effect.Success<ReturnType<typeof startProcess>>

/** A customer with alerts, and a process that counts with a store that fails. */
const prepare = Effect.gen(function* () {
  const store = yield* Store
  const { bucketId, createPlanWith, subscribe } = yield* setUp()
  const plan = yield* createPlanWith("daily", { requests: { max: 10, period: "day" } })
  const { series } = yield* subscribe({ planIds: [plan.id], planExternalIds: ["daily"] })
  const faulty = makeFaultyStore(store)
  const [process, other] = [yield* startProcess(faulty.store, bucketId), yield* startProcess(store, bucketId)]
  const alerts = yield* useAlerts(bucketId)
  for (const when of conditions) yield* alerts.create("requests", when)
  const day = DateTime.formatIso(DateTime.startOf(yield* DateTime.now, "day"))
  /** What was written of alerts, and in which period: this day is the first. */
  const readTriggered = Effect.map(
    Stream.runCollect(outboxRecords.stream(Partition.forMeteringBucket(bucketId), { pageSize: 1_000 })),
    (events) =>
      events.flatMap(({ value: { type, data } }) =>
        type === "alert.triggered" ? [{ when: data["when"], isFirst: data["periodStart"] === day }] : []
      )
  )
  return { bucketId, faulty, process, other, series, readTriggered }
})

const sweep = (bucketId: string) => Effect.flatMap(DateTime.now, (now) => sweepAlerts(bucketId, now))

const byCondition = <A extends { readonly when: unknown }>(triggered: ReadonlyArray<A>) =>
  triggered.toSorted((left, right) => JSON.stringify(left).localeCompare(JSON.stringify(right)))

/** Uses all of a day, and on the next day as much as triggers two of them. */
const runWithFault = Effect.fnUntraced(function* (call: number, fault: Fault) {
  const { bucketId, faulty, process: first, other, readTriggered } = yield* prepare
  faulty.injectAt(call, fault)
  let process = first
  const attempt = <A, E>(step: (process: Process) => Effect.Effect<A, E>) =>
    Effect.catch(step(process), () => {
      process = other
      return step(other)
    })
  for (const key of ["one", "two", "three"]) yield* attempt(({ consume }) => consume(3, key))
  yield* TestClock.adjust("1 day")
  yield* attempt(({ consume }) => consume(6, "next day"))
  // If it was the look after the last count that failed.
  yield* sweep(bucketId)
  return { isOver: faulty.calls() < call, triggered: byCondition(yield* readTriggered) }
})

/** Dies before a call, in the last count for a week. `goOn` is the first thing that happens then. */
const runUntilDeath = Effect.fnUntraced(function* (call: number, goOn: "sweep" | "count") {
  const { bucketId, faulty, process, other, series, readTriggered } = yield* prepare
  const died = yield* Deferred.make<void>()
  faulty.injectAt(call, { interleave: Effect.andThen(Deferred.succeed(died, undefined), Effect.never) })
  const use = Effect.andThen(process.consume(3, "three"), process.consume(7, "seven"))
  const isOver = yield* Effect.raceFirst(Effect.as(use, true), Effect.as(Deferred.await(died), false))
  const used = sum(yield* series("day"))
  yield* TestClock.adjust("7 days")
  if (goOn === "count") yield* other.consume(1, "later")
  yield* sweep(bucketId)
  yield* other.consume(1, "later still")
  yield* sweep(bucketId)
  return { isOver, used, triggered: byCondition(yield* readTriggered) }
})

describe.each(stores)("alerts, on %s", (name, store) => {
  const startAt = startOn(store)
  /** All calls in memory; on the others, some: each takes long on a busy machine. */
  const stride = name === "memory" ? 1 : name === "SQLite" ? 3 : 9

  it.effect.each([["fail"], ["lose-reply"]] as const)(
    "are triggered once in each period, whichever store call fails (%s)",
    ([fault]) =>
      Effect.gen(function* () {
        const expected = byCondition([
          ...conditions.map((when) => ({ when, isFirst: true })),
          ...[{ used: 5 }, { remaining: 4 }].map((when) => ({ when, isFirst: false }))
        ])
        for (let call = 1, isOver = false; !isOver; call += stride) {
          const result = yield* Effect.scoped(runWithFault(call, fault))
          assert.deepStrictEqual(result.triggered, expected, `call ${call}`)
          isOver = result.isOver
        }
      }).pipe(startAt(start, { background: false })),
    600_000
  )

  it.effect.each([["sweep"], ["count"]] as const)(
    "that the last count before a kill has reached are triggered a week later (by a %s)",
    ([goOn]) =>
      Effect.gen(function* () {
        const outcomes = new Set<number>()
        for (let call = 1, isOver = false; !isOver; call += stride) {
          const result = yield* Effect.scoped(runUntilDeath(call, goOn))
          const expected = result.used === 10 ? byCondition(conditions.map((when) => ({ when, isFirst: true }))) : []
          assert.deepStrictEqual(result.triggered, expected, `call ${call}`)
          outcomes.add(result.used)
          isOver = result.isOver
        }
        if (stride === 1) assert.deepStrictEqual([...outcomes], [0, 3, 10])
      }).pipe(startAt(start, { background: false })),
    600_000
  )
})
