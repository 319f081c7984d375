/**
 * Long random sequences of operations, on every store, with store calls that fail, lose their reply or are delayed.
 * After each step, the state is as a simple model predicts: a failed step is applied completely or not at all, and a
 * step that is repeated with its idempotency key is applied once. A failure prints its seed; set `MODEL_SEED` to repeat
 * it and `MODEL_STEPS` to change the number of steps.
 */
import { isDeepStrictEqual } from "node:util"
import { createTollgate } from "@tollgate/core"
import type { StoreOperations } from "@tollgate/store"
import { type Fault, makeFaultyStore } from "@tollgate/store-testkit"
import { isBackgroundCall } from "@tollgate/testing"
import { afterAll, describe, expect, it } from "vitest"
import { emptyModel, isErrorList, type Model, makeStep, readState } from "./model.ts"
import { makeRandom, readSeed } from "./random.ts"
import { getShare, sampleCases } from "./sample.ts"
import { secret, setUpStore, storesAndCluster } from "./stores.ts"

const firstSeed = readSeed("MODEL_SEED")
const seeds = Array.from({ length: 5 }, (_, index) => firstSeed + index)
const steps = Number(process.env["MODEL_STEPS"] ?? 300)

const getOutcome = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "done",
    (error) => error?._tag ?? String(error)
  )

/** Runs one sequence, and counts the outcomes. */
const runSequence = async (emptyStore: StoreOperations, seed: number) => {
  const random = makeRandom(seed)
  const { store, injectAt } = makeFaultyStore(emptyStore, isBackgroundCall)
  const counts = { done: 0, rejected: 0, failed: 0, "failed but applied": 0, verified: 0 }
  const openGate = () =>
    createTollgate({ store, secret, ...(random.chance(0.5) ? { verifyCache: { ttl: 600_000 } } : {}) })
  let gate = await openGate()
  const { id: bucketId } = await gate.account("acme").meteringBuckets.create()
  const getBuckets = () => {
    const acme = gate.account("acme")
    return { keyBucket: acme.keyBucket("b"), meteringBucket: acme.meteringBucket(bucketId) }
  }

  let isFaulty = false
  const withFault = async <A>(probability: number, work: () => Promise<A>): Promise<A> => {
    isFaulty = random.chance(probability)
    if (isFaulty) injectAt(1 + random.below(5), random.pick(["fail", "lose-reply", "delay"] satisfies Array<Fault>))
    const result = await work()
    injectAt(0, "fail")
    return result
  }

  let model: Model = emptyModel
  let state = await readState(getBuckets())
  const allKeyValues = new Set<string>()
  const verifyAllKeys = async (label: string) => {
    const { keyBucket } = getBuckets()
    for (const value of allKeyValues) {
      // A failed verification must not be cached.
      await withFault(0.1, () => getOutcome(keyBucket.verify(value)))
      const result = await keyBucket.verify(value)
      expect(result.valid ? result.consumer.name : undefined, label).toBe(state.validKeys.get(value))
      counts.verified++
    }
  }

  for (let count = 1; count <= steps; count++) {
    const step = makeStep(random)
    const label = `seed ${seed}, step ${count}: ${step.label}`
    const hasIdempotencyKey = step.isIdempotent === true && random.chance(0.5)
    const runStep = () => step.run(getBuckets(), state, hasIdempotencyKey ? { idempotencyKey: `step-${count}` } : {})
    const firstOutcome = await withFault(0.5, () => getOutcome(runStep()))
    if (firstOutcome === "StoreUnavailable") counts.failed++
    const canRepeat = firstOutcome === "StoreUnavailable" && hasIdempotencyKey
    const outcome = canRepeat ? await getOutcome(runStep()) : firstOutcome

    const prediction = step.predict(model)
    const predictedModel = isErrorList(prediction) ? model : prediction
    state = await readState(getBuckets())
    if (outcome === "StoreUnavailable") {
      expect([model, predictedModel], label).toContainEqual(state.model)
      expect(isFaulty, `${label}: failed without an injected fault`).toBe(true)
      if (!isErrorList(prediction) && isDeepStrictEqual(state.model, prediction)) counts["failed but applied"]++
    } else {
      expect(isErrorList(prediction) ? prediction : ["done"], label).toContain(outcome)
      expect(state.model, label).toEqual(predictedModel)
      counts[outcome === "done" ? "done" : "rejected"]++
    }
    model = state.model
    for (const value of state.keyValues) allKeyValues.add(value)
    if (random.chance(0.05)) await verifyAllKeys(label)
    if (random.chance(0.02)) {
      await gate.close()
      gate = await openGate()
    }
  }
  await verifyAllKeys(`seed ${seed}, at the end`)
  await gate.close()
  return counts
}

describe.each(storesAndCluster)("on %s", (name, layer) => {
  const makeEmptyStore = setUpStore(layer)
  const totals: Record<string, number> = {}
  afterAll(() => {
    const summary = Object.entries(totals).map(([outcome, count]) => `${count} ${outcome}`)
    console.log(`model, ${name}: seeds ${seeds[0]} to ${seeds.at(-1)}, ${steps} steps each: ${summary.join(", ")}`)
  })

  it.each(sampleCases(seeds, getShare(name)))(
    "the state matches the model after every step, with injected faults: seed %i",
    async (seed) => {
      for (const [outcome, count] of Object.entries(await runSequence(makeEmptyStore(), seed)))
        totals[outcome] = (totals[outcome] ?? 0) + count
    },
    120_000
  )
})
