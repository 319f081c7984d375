/**
 * Fault tests multiply: stores × operations × kinds of faults. A run takes a sample of the cases on the stores that cost
 * most, with every kind of fault on every store. `npm run test:faults -- --all` runs all cases.
 */
import { makeRandom, readSeed } from "./random.ts"

/** Whether all cases run, and loads for their full time. */
export const isComplete = process.env["FAULTS"] === "all"
const seed = readSeed("SAMPLE_SEED")

console.log(
  isComplete ? "All fault cases run." : `A sample of the fault cases runs. To repeat it, set SAMPLE_SEED=${seed}`
)

/** The services are the same on every store: memory runs every case, the others a share of them. */
export const getShare = (storeName: string): number => (storeName === "memory" ? 1 : 0.15)

/** Each sample of a file differs. */
let sampled = 0

/** A random share of the cases, at least one, in their order. */
export const sampleCases = <Case>(cases: ReadonlyArray<Case>, share: number): ReadonlyArray<Case> => {
  if (isComplete || share >= 1) return cases
  const random = makeRandom(seed + sampled++)
  const remaining = cases.map((_, index) => index)
  const chosen = Array.from({ length: Math.max(1, Math.round(cases.length * share)) }, () =>
    remaining.splice(random.below(remaining.length), 1)
  ).flat()
  return cases.filter((_, index) => chosen.includes(index))
}

/** Which of the calls of an operation get a fault: each n-th, from a random one on. */
export const sampleCalls = (share: number): { readonly first: number; readonly step: number } => {
  const step = isComplete ? 1 : Math.round(1 / share)
  return { first: 1 + makeRandom(seed + sampled++).below(step), step }
}
