/**
 * Long sequences of operations by chance, on every store, with store calls that fail, lose their reply or are late: after
 * each, everything that can be read is as a simple model says. What failed was done whole or not at all; what was asked
 * again with its idempotency key was done once. A failure prints its seed: `MODEL_SEED` repeats it, `MODEL_STEPS` says
 * how far.
 */
import { isDeepStrictEqual } from "node:util"
import { createTollgate, type StoreOperations, type Tollgate } from "@tollgate/core"
import { type Fault, makeFaultyStore } from "@tollgate/store-testkit"
import { afterAll, describe, expect, it } from "vitest"
import { account, bucket, isRefusal, look, type Model, nextStep, nothing } from "./model.ts"
import { randomFrom, seedFrom } from "./random.ts"
import { openedFor, secret, storesAndCluster } from "./stores.ts"

const firstSeed = seedFrom("MODEL_SEED")
const seeds = Array.from({ length: 5 }, (_, index) => firstSeed + index)
const steps = Number(process.env["MODEL_STEPS"] ?? 300)

const answerOf = (run: Promise<unknown>): Promise<string> =>
  run.then(
    () => "done",
    (error) => error?._tag ?? String(error)
  )

/** Walks one sequence, and counts what came of it. */
const walk = async (empty: StoreOperations, seed: number) => {
  const chance = randomFrom(seed)
  const { store, injectAt } = makeFaultyStore(empty)
  const counts = { done: 0, refused: 0, failed: 0, "failed and done": 0, verified: 0 }
  const openGate = () =>
    createTollgate({ store, secret, ...(chance.chance(0.5) ? { verifyCache: { ttl: 600_000 } } : {}) })
  let gate = await openGate()
  const { id: bucketId } = await gate.meteringBuckets.create(account)

  let isFaulty = false
  const withFault = async <A>(share: number, work: () => Promise<A>): Promise<A> => {
    isFaulty = chance.chance(share)
    if (isFaulty) injectAt(1 + chance.below(5), chance.pick(["fail", "lose-reply", "delay"] satisfies Array<Fault>))
    const result = await work()
    injectAt(0, "fail")
    return result
  }

  let model: Model = nothing
  let found = await look(gate, bucketId)
  const everSeen = new Set<string>()
  const verifyAll = async (gate: Tollgate, told: string) => {
    for (const value of everSeen) {
      // What fails now is not remembered as an answer.
      await withFault(0.1, () => answerOf(gate.keys.verify(account, bucket, value)))
      const answer = await gate.keys.verify(account, bucket, value)
      expect(answer.valid ? answer.consumer.name : undefined, told).toBe(found.bearers.get(value))
      counts.verified++
    }
  }

  for (let count = 1; count <= steps; count++) {
    const step = nextStep(chance)
    const told = `seed ${seed}, step ${count}: ${step.told}`
    const isRepeated = step.isOnce === true && chance.chance(0.5)
    const ask = () => step.run(gate, bucketId, found, isRepeated ? { idempotencyKey: `step-${count}` } : {})
    const first = await withFault(0.5, () => answerOf(ask()))
    if (first === "StoreUnavailable") counts.failed++
    const answer = first === "StoreUnavailable" && isRepeated ? await answerOf(ask()) : first

    const outcome = step.leadsTo(model)
    const after = isRefusal(outcome) ? model : outcome
    found = await look(gate, bucketId)
    if (answer === "StoreUnavailable") {
      expect([model, after], told).toContainEqual(found.model)
      expect(isFaulty, `${told}: nothing was made to fail`).toBe(true)
      if (!isRefusal(outcome) && isDeepStrictEqual(found.model, outcome)) counts["failed and done"]++
    } else {
      expect(isRefusal(outcome) ? outcome : ["done"], told).toContain(answer)
      expect(found.model, told).toEqual(after)
      counts[answer === "done" ? "done" : "refused"]++
    }
    model = found.model
    for (const value of found.values) everSeen.add(value)
    if (chance.chance(0.05)) await verifyAll(gate, told)
    if (chance.chance(0.02)) {
      await gate.close()
      gate = await openGate()
    }
  }
  await verifyAll(gate, `seed ${seed}, at the end`)
  await gate.close()
  return counts
}

describe.each(storesAndCluster)("on %s", (name, layer) => {
  const emptyStore = openedFor(layer)
  const total: Record<string, number> = {}
  afterAll(() => {
    const told = Object.entries(total).map(([what, count]) => `${count} ${what}`)
    console.log(`model, ${name}: seeds ${seeds[0]} to ${seeds.at(-1)}, ${steps} steps each: ${told.join(", ")}`)
  })

  it.each(seeds)(
    "everything is as the model says, whatever goes wrong: seed %i",
    async (seed) => {
      for (const [what, count] of Object.entries(await walk(emptyStore(), seed)))
        total[what] = (total[what] ?? 0) + count
    },
    120_000
  )
})
