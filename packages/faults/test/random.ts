/**
 * Chance that can be repeated: the same numbers for the same seed.
 */

/** The seed that a variable of the environment gives, or a new one. */
export const seedFrom = (variable: string): number =>
  Number(process.env[variable] ?? Math.floor(Math.random() * 2 ** 31))

export const randomFrom = (seed: number) => {
  let state = seed >>> 0
  const random = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    /** From 0 up to 1. */
    random,
    /** An integer from 0 up to a limit. */
    below: (limit: number): number => Math.floor(random() * limit),
    chance: (share: number): boolean => random() < share,
    pick: <A>(items: ReadonlyArray<A>): A => items[Math.floor(random() * items.length)] as A
  }
}
