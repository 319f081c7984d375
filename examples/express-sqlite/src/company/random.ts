/** Numbers that look random and are the same at every run (mulberry32). */
export interface Random {
  /** At least 0, less than 1. */
  readonly next: () => number
  /** A whole number from `min` to `max`. */
  readonly integer: (min: number, max: number) => number
  readonly pick: <A>(items: readonly [A, ...ReadonlyArray<A>]) => A
}

export const makeRandom = (seed: number): Random => {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    integer: (min, max) => min + Math.floor(next() * (max - min + 1)),
    pick: (items) => items[Math.floor(next() * items.length)] ?? items[0]
  }
}
