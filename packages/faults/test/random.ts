/**
 * A seeded random number generator, so that a failing run can be repeated.
 */

/** The seed from an environment variable, or a random one. */
export const readSeed = (variable: string): number =>
  Number(process.env[variable] ?? Math.floor(Math.random() * 2 ** 31))

export type Random = ReturnType<typeof makeRandom>

export const makeRandom = (seed: number) => {
  let state = seed >>> 0
  const random = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    /** A number from 0 (inclusive) to 1 (exclusive). */
    random,
    /** An integer from 0 (inclusive) to `limit` (exclusive). */
    below: (limit: number): number => Math.floor(random() * limit),
    chance: (probability: number): boolean => random() < probability,
    pick: <A>(items: ReadonlyArray<A>): A => items[Math.floor(random() * items.length)] as A
  }
}
