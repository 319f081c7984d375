/**
 * Runs one operation on usage before each store call of another, as a second process would, in a new hour, day and
 * period. Both succeed, and each counts in its own hour.
 */

import { makeFaultyStore } from "@tollgate/store-testkit"
import { isBackgroundCall } from "@tollgate/testing"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { getShare, sampleCases } from "./sample.ts"
import { secret, setUpStore, stores } from "./stores.ts"
import { type MeteredSubscription, makeMovableClock, openUsageGate, start, type UsageGate } from "./usageGate.ts"
import {
  addCounts,
  isErrorList,
  makeModel,
  type Prediction,
  predictEnd,
  toReadings,
  type UsageModel
} from "./usageModel.ts"
import { readUsage } from "./usageReadings.ts"

const minute = 60_000
/** The reservations are made three minutes before the end of a day and of a period. */
const [madeAt, now] = [start + 117 * minute, start + 122 * minute]
const maxima = { requests: 1_000, tokens: 1_000 }
const reserved = { requests: 5, tokens: 25 }
const reservation = { subscription: "s", meters: reserved, madeAt, expiresAt: madeAt + 3_600_000 }

interface Call {
  readonly gate: UsageGate
  readonly bucketId: string
  readonly subscription: MeteredSubscription
  readonly reservationId: string
  /** Different for both operations. */
  readonly amount: number
}

interface Operation {
  readonly run: (call: Call) => Promise<unknown>
  readonly predict: (model: UsageModel, reservationId: string, amount: number) => Prediction
}

const operations: Readonly<Record<string, Operation>> = {
  consume: {
    run: ({ gate, bucketId, subscription, amount }) => gate.consume(bucketId, subscription, { requests: amount }),
    predict: (model, _, amount) => addCounts(model, "s", { requests: amount }, now)
  },
  record: {
    run: ({ gate, bucketId, subscription, amount }) => gate.record(bucketId, subscription, { tokens: amount }),
    predict: (model, _, amount) => addCounts(model, "s", { tokens: amount }, now)
  },
  reserve: {
    run: ({ gate, bucketId, subscription, amount }) =>
      gate.reserve(bucketId, subscription, { meters: { requests: amount }, expiresIn: 60 }),
    predict: (model, _, amount) => {
      const open = { id: undefined, subscription: "s", meters: { requests: amount }, madeAt: now }
      return { ...model, open: [...model.open, { ...open, expiresAt: now + minute }] }
    }
  },
  settle: {
    run: ({ gate, bucketId, subscription, reservationId, amount }) =>
      gate.settle(bucketId, subscription, reservationId, { tokens: amount }),
    predict: (model, reservationId, amount) => predictEnd(model, reservationId, { tokens: amount }, now)
  },
  release: {
    run: ({ gate, bucketId, subscription, reservationId }) => gate.release(bucketId, subscription, reservationId),
    predict: (model, reservationId) => predictEnd(model, reservationId, {}, now)
  },
  "read quotas": {
    run: ({ gate, bucketId, subscription }) => gate.quotas(bucketId, subscription),
    predict: (model) => model
  }
}

describe.each(stores)("on %s", (storeName, layer) => {
  const makeEmptyStore = setUpStore(layer)

  const makeFixture = async () => {
    const emptyStore = makeEmptyStore()
    const { store, injectAt, calls } = makeFaultyStore(emptyStore, isBackgroundCall)
    const clock = makeMovableClock(madeAt)
    const [gate, other] = [await openUsageGate(store, clock, secret), await openUsageGate(emptyStore, clock, secret)]
    const bucketId = await gate.createBucket()
    const subscription = await gate.subscribe(bucketId, "s", maxima)
    await gate.consume(bucketId, subscription, { requests: 2, tokens: 3 })
    const reserve = () => gate.reserve(bucketId, subscription, { meters: reserved, expiresIn: 3_600 })
    const first: Call = { gate, bucketId, subscription, reservationId: await reserve(), amount: 7 }
    const second: Call = { gate: other, bucketId, subscription, reservationId: await reserve(), amount: 11 }
    clock.set(now)
    const close = () => Promise.all([gate.close(), other.close()])
    return { first, second, injectAt, calls, close }
  }

  const expected = (one: Operation, two: Operation) => {
    const used = addCounts(makeModel({ s: maxima }), "s", { requests: 2, tokens: 3 }, madeAt)
    const model = {
      ...used,
      open: [
        { id: "first", ...reservation },
        { id: "second", ...reservation }
      ]
    }
    const first = one.predict(model, "first", 7)
    const both = isErrorList(first) ? first : two.predict(first, "second", 11)
    return isErrorList(both) ? expect.fail(`Failed with ${both}`) : toReadings(both, now)
  }

  describe.each(Object.entries(operations))("%s", (name, operation) => {
    it.each(sampleCases(Object.entries(operations), getShare(storeName)))(
      "and %s before each of its store calls count exactly",
      async (otherName, otherOperation) => {
        for (let isPastLastCall = false, call = 1; !isPastLastCall; call++) {
          const { first, second, injectAt, calls, close } = await makeFixture()
          let otherRun: Promise<unknown> | undefined
          const interleave = Effect.promise(() => {
            otherRun = otherOperation.run(second)
            return otherRun
          })
          injectAt(call, { interleave })
          await operation.run(first)
          isPastLastCall = calls() < call
          injectAt(0, "fail")
          // The call can be one of a background job: then the other operation ends after the first.
          await (otherRun ?? otherOperation.run(second))
          const readings = await readUsage(second.gate, second.bucketId, { s: second.subscription }, now)
          expect(readings, `${otherName} before call ${call} of ${name}`).toEqual(expected(operation, otherOperation))
          await close()
        }
      },
      60_000
    )
  })
})
