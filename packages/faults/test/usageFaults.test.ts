/**
 * Runs every operation on usage at the times when it has most to do, and makes each of its store calls fail in every way.
 * The operation succeeds or fails with `StoreUnavailable`, counts completely or not at all, and counts
 * once when it is repeated with its idempotency key.
 */

import { type Fault, makeFaultyStore } from "@tollgate/store-testkit"
import { isBackgroundCall } from "@tollgate/testing"
import { afterAll, describe, expect, it } from "vitest"
import { getShare, sampleCases } from "./sample.ts"
import { secret, setUpStore, stores } from "./stores.ts"
import { type MeteredSubscription, makeMovableClock, openUsageGate, start, type UsageGate } from "./usageGate.ts"
import {
  addCounts,
  expire,
  isErrorList,
  makeModel,
  type Prediction,
  predictConsume,
  predictEnd,
  predictRecord,
  predictReserve,
  toReadings,
  type UsageModel
} from "./usageModel.ts"
import { dayMs, readUsage } from "./usageReadings.ts"

const minute = 60_000
/** Three minutes before the end of a day and of a period. The reservation is made then, and expires ten minutes later. */
const [madeAt, expiresIn] = [start + 117 * minute, 600]
const maxima = { requests: 20, tokens: 30 }
const reserved = { requests: 1, tokens: 25 }

const newPeriod = "in a new hour, day and period"
const times: Readonly<Record<string, number>> = {
  "in the open hour": madeAt + minute,
  [newPeriod]: madeAt + 5 * minute,
  "when the reservation has expired": madeAt + 20 * minute,
  "when a period is closed": madeAt + 2 * dayMs
}

interface Call {
  readonly gate: UsageGate
  readonly bucketId: string
  readonly subscription: MeteredSubscription
  readonly reservationId: string
  readonly options: { readonly idempotencyKey: string }
}

interface Operation {
  readonly run: (call: Call) => Promise<unknown>
  readonly predict: (model: UsageModel, now: number) => Prediction
}

const unchanged = (model: UsageModel): Prediction => model
const meters = { requests: 2, tokens: 6 }

const operations: Readonly<Record<string, Operation>> = {
  consume: {
    run: ({ gate, bucketId, subscription, options }) => gate.consume(bucketId, subscription, meters, options),
    predict: (model, now) => predictConsume(model, "s", meters, now)
  },
  record: {
    run: ({ gate, bucketId, subscription, options }) => gate.record(bucketId, subscription, meters, options),
    predict: (model, now) => predictRecord(model, "s", meters, now)
  },
  reserve: {
    run: ({ gate, bucketId, subscription, options }) =>
      gate.reserve(bucketId, subscription, { meters, expiresIn }, options),
    predict: (model, now) => {
      const expiresAt = now + expiresIn * 1_000
      return predictReserve(model, { id: undefined, subscription: "s", meters, madeAt: now, expiresAt })
    }
  },
  settle: {
    run: ({ gate, bucketId, subscription, reservationId, options }) =>
      gate.settle(bucketId, subscription, reservationId, { tokens: 11 }, options),
    predict: (model, now) => predictEnd(model, "r", { tokens: 11 }, now)
  },
  release: {
    run: ({ gate, bucketId, subscription, reservationId, options }) =>
      gate.release(bucketId, subscription, reservationId, options),
    predict: (model, now) => predictEnd(model, "r", {}, now)
  },
  quotas: { run: ({ gate, bucketId, subscription }) => gate.quotas(bucketId, subscription), predict: unchanged },
  series: {
    run: ({ gate, bucketId, subscription }) => gate.series(bucketId, subscription, "period", start),
    predict: unchanged
  },
  totals: { run: ({ gate, bucketId }) => gate.totals(bucketId, start), predict: unchanged }
}

const getOutcome = (run: Promise<unknown>): Promise<string> =>
  run.then(
    () => "done",
    (error) => error?._tag ?? String(error)
  )

describe.each(stores)("on %s", (name, layer) => {
  const makeEmptyStore = setUpStore(layer)
  let [runs, failures] = [0, 0]
  afterAll(() => {
    console.log(`faults in usage, ${name}: ${runs} runs, ${failures} failed cleanly`)
  })

  /** Usage in two hours, and an open reservation. */
  const makeFixture = async (now: number) => {
    const { store, injectAt, calls } = makeFaultyStore(makeEmptyStore(), isBackgroundCall)
    const clock = makeMovableClock(start)
    const gate = await openUsageGate(store, clock, secret)
    const bucketId = await gate.createBucket()
    const subscription = await gate.subscribe(bucketId, "s", maxima)
    await gate.consume(bucketId, subscription, { requests: 3 })
    clock.set(madeAt)
    await gate.consume(bucketId, subscription, { requests: 2, tokens: 4 })
    const reservationId = await gate.reserve(bucketId, subscription, { meters: reserved, expiresIn })
    clock.set(now)
    const used = addCounts(makeModel({ s: maxima }), "s", { requests: 3 }, start)
    const open = { id: "r", subscription: "s", meters: reserved, madeAt, expiresAt: madeAt + expiresIn * 1_000 }
    const model = { ...addCounts(used, "s", { requests: 2, tokens: 4 }, madeAt), open: [open] }
    const read = () => readUsage(gate, bucketId, { s: subscription }, now)
    const call: Call = { gate, bucketId, subscription, reservationId, options: { idempotencyKey: "once" } }
    return { call, model, read, injectAt, calls, close: gate.close }
  }

  // The services are the same on every store, so the others repeat only the time when most is written.
  const timesOfStore = Object.entries(times).filter(([time]) => name === "memory" || time === newPeriod)
  describe.each(timesOfStore)("%s", (_, now) => {
    it.each(sampleCases(Object.entries(operations), getShare(name)))(
      "%s counts completely or not at all, and once when it is repeated",
      async (operation, { run, predict }) => {
        const failuresBefore = failures
        for (const fault of ["fail", "lose-reply", "delay"] satisfies ReadonlyArray<Fault>) {
          for (let isPastLastCall = false, call = 1; !isPastLastCall; call++) {
            const fixture = await makeFixture(now)
            const label = `${operation}, call ${call}, ${fault}`
            const model = expire(fixture.model, now)
            const prediction = predict(model, now)
            const [before, after] = [model, isErrorList(prediction) ? model : prediction].map((state) =>
              toReadings(state, now)
            )
            const expected = isErrorList(prediction) ? prediction : ["done"]
            fixture.injectAt(call, fault)
            const outcome = await getOutcome(run(fixture.call))
            isPastLastCall = fixture.calls() < call
            fixture.injectAt(0, fault)
            runs++
            if (outcome === "StoreUnavailable") {
              failures++
              const possible = fault === "lose-reply" ? [before, after] : [before]
              expect(possible, label).toContainEqual(await fixture.read())
              expect(expected, label).toContain(await getOutcome(run(fixture.call)))
            } else expect(expected, label).toContain(outcome)
            expect(await fixture.read(), label).toEqual(after)
            await fixture.close()
          }
        }
        expect(failures).toBeGreaterThan(failuresBefore)
      },
      60_000
    )
  })
})
