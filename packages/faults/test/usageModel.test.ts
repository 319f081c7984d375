/**
 * Long random sequences of operations on usage, on every store, through two services with caches of their own, with store
 * calls that fail, lose their reply or are delayed, and a clock that moves by seconds to months. After each step, quotas,
 * series and totals are exactly as a simple model predicts: usage counts once, in its hour, day and period; a reservation
 * is given back once; nothing but recorded usage, late charges and changed plans exceeds a maximum. A failure prints its
 * seed; set `USAGE_SEED` to repeat it, and `USAGE_RUNS` and `USAGE_STEPS` for more or longer sequences.
 */
import { isDeepStrictEqual } from "node:util"
import type { StoreOperations } from "@tollgate/store"
import { type Fault, makeFaultyStore } from "@tollgate/store-testkit"
import { isBackgroundCall } from "@tollgate/testing"
import { afterAll, describe, expect, it } from "vitest"
import { makeRandom, type Random, readSeed } from "./random.ts"
import { getShare, sampleCases } from "./sample.ts"
import { secret, setUpStore, stores } from "./stores.ts"
import { makeMovableClock, openUsageGate, start } from "./usageGate.ts"
import { expire, isErrorList, makeModel, toReadings, type UsageModel } from "./usageModel.ts"
import { dayMs, hourMs, readUsage } from "./usageReadings.ts"
import { makeUsageStep, type Sequence, type UsageStep } from "./usageSteps.ts"

const firstSeed = readSeed("USAGE_SEED")
const seeds = Array.from({ length: Number(process.env["USAGE_RUNS"] ?? 3) }, (_, index) => firstSeed + index)
const steps = Number(process.env["USAGE_STEPS"] ?? 200)

interface Outcome {
  /** `done`, or the tag of an error. */
  readonly tag: string
  readonly result?: unknown
  /** Whether a failed call may have been applied. */
  readonly isUnknown?: boolean
}

const getOutcome = (call: Promise<unknown>): Promise<Outcome> =>
  call.then(
    (result) => ({ tag: "done", result }),
    (error) => ({ tag: error?._tag ?? String(error?.stack ?? error), isUnknown: error?.outcome === "unknown" })
  )

/** The states that are possible after a step. None if its outcome is wrong. */
const listCandidates = (
  step: UsageStep,
  model: UsageModel,
  now: number,
  { tag, result, isUnknown = false }: Outcome
): ReadonlyArray<UsageModel> => {
  const prediction = step.predict(model, now, result)
  const applied = [
    ...(isErrorList(prediction) ? [] : [prediction]),
    ...(step.predictAlternative === undefined ? [] : [step.predictAlternative(model, now)])
  ]
  if (tag === "done") return applied
  if (tag === "StoreUnavailable") return isUnknown || step.readsAfterCommit === true ? [...applied, model] : [model]
  return isErrorList(prediction) && prediction.includes(tag) ? [model] : []
}

/** How far the clock moves before a step: usually not, so that reservations are often still open. */
const pickMove = ({ chance, below, pick }: Random): number => {
  if (chance(0.5)) return 0
  if (chance(0.85)) return below(pick([30_000, 30 * 60_000]))
  return below(pick([3 * hourMs, 3 * hourMs, 3 * dayMs, 40 * dayMs]))
}

/** Runs one sequence, and counts the outcomes. */
const runSequence = async (emptyStore: StoreOperations, seed: number) => {
  const random = makeRandom(seed)
  const { store, injectAt } = makeFaultyStore(emptyStore, isBackgroundCall)
  const counts = { done: 0, rejected: 0, failed: 0, "failed but applied": 0, compared: 0 }
  const clock = makeMovableClock(start)
  const openGate = () => openUsageGate(store, clock, secret)
  const gates = [await openGate(), await openGate()]
  const [first] = gates
  if (first === undefined) throw new Error("No services")
  const maxima = { requests: 100, tokens: 150, calls: 40, jobs: 80 }
  const bucketId = await first.createBucket()
  const subscriptions: Sequence["subscriptions"] = {
    "s-1": await first.subscribe(bucketId, "s-1", maxima),
    "s-2": await first.subscribe(bucketId, "s-2", maxima)
  }
  const sequence: Sequence = { bucketId, subscriptions, reservations: [], requests: [] }
  let [now, model] = [start, makeModel({ "s-1": maxima, "s-2": maxima })]

  for (let count = 1; count <= steps; count++) {
    now += pickMove(random)
    clock.set(now)
    model = expire(model, now)
    const step = makeUsageStep(random, sequence, model, now)
    const label = `seed ${seed}, step ${count}, ${new Date(now).toISOString()}: ${step.label}`
    const hasIdempotencyKey = step.isIdempotent === true && random.chance(0.4)
    const runStep = () =>
      getOutcome(step.run(random.pick(gates), hasIdempotencyKey ? { idempotencyKey: `step-${count}` } : {}))
    const isFaulty = random.chance(0.4)
    if (isFaulty) injectAt(1 + random.below(6), random.pick(["fail", "lose-reply", "delay"] satisfies Array<Fault>))
    const firstOutcome = await runStep()
    injectAt(0, "fail")
    if (firstOutcome.tag === "StoreUnavailable") counts.failed++
    const canRepeat = firstOutcome.tag === "StoreUnavailable" && hasIdempotencyKey
    const outcome = canRepeat ? await runStep() : firstOutcome
    await step.refresh?.(gates[0] ?? first)

    const candidates = listCandidates(step, model, now, outcome)
    if (outcome.tag === "StoreUnavailable") expect(isFaulty, `${label}: failed without an injected fault`).toBe(true)
    else counts[outcome.tag === "done" ? "done" : "rejected"]++
    const [candidate] = candidates
    if (candidate === undefined) return expect.fail(`${label}: ${outcome.tag}`)
    const before = model
    model = candidate
    if (candidates.length > 1 || random.chance(0.4)) {
      const readings = await readUsage(random.pick(gates), bucketId, subscriptions, now)
      model = candidates.find((other) => isDeepStrictEqual(toReadings(other, now), readings)) ?? candidate
      expect(readings, `${label}: ${outcome.tag}`).toEqual(toReadings(model, now))
      counts.compared++
    }
    if (outcome.tag === "StoreUnavailable" && model !== before) counts["failed but applied"]++
    if (random.chance(0.02)) {
      // A new process gives back what has expired when it starts.
      await gates.shift()?.close()
      gates.push(await openGate())
    }
  }
  expect(await readUsage(random.pick(gates), bucketId, subscriptions, now), `seed ${seed}, at the end`).toEqual(
    toReadings(model, now)
  )
  for (const gate of gates) await gate.close()
  return counts
}

describe.each(stores)("on %s", (name, layer) => {
  const makeEmptyStore = setUpStore(layer)
  const totals: Record<string, number> = {}
  afterAll(() => {
    const summary = Object.entries(totals).map(([outcome, count]) => `${count} ${outcome}`)
    console.log(
      `usage model, ${name}: seeds ${seeds[0]} to ${seeds.at(-1)}, ${steps} steps each: ${summary.join(", ")}`
    )
  })

  it.each(sampleCases(seeds, getShare(name)))(
    "quotas, series and totals match the model after every step, with injected faults: seed %i",
    async (seed) => {
      for (const [outcome, count] of Object.entries(await runSequence(makeEmptyStore(), seed)))
        totals[outcome] = (totals[outcome] ?? 0) + count
    },
    120_000
  )
})
