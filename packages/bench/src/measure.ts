/**
 * Measures two ways of doing the same work in turns, so that a noisy machine disturbs both alike. No round is discarded:
 * the spread shows the slow ones too.
 */

/** Does the work so many times. */
export type Work = (times: number) => Promise<void>

export interface Effort {
  /** How often the two take turns. */
  readonly rounds: number
  /** How long one turn takes, about. */
  readonly milliseconds: number
}

export interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

export interface Comparison {
  /** How often a second each did the work, in the median. */
  readonly ours: number
  readonly floor: number
  /** Ours to the floor, round by round. */
  readonly ratio: Spread
}

export const toSpread = (values: ReadonlyArray<number>): Spread => {
  const sorted = values.toSorted((left, right) => left - right)
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
  return { median: at(0.5), low: at(0), high: at(1) }
}

const timeWork = async (work: Work, times: number): Promise<number> => {
  const start = performance.now()
  await work(times)
  return (performance.now() - start) / 1000
}

/** A server runs for days: what is measured has been compiled. */
const warmUp = 5

/** How often the work is done in a turn of that length, once it has run for some turns. */
const estimateRuns = async (work: Work, milliseconds: number): Promise<number> => {
  let spent = 0
  for (let times = 16; ; times *= 2) {
    const seconds = await timeWork(work, times)
    spent += seconds * 1000
    if (spent >= milliseconds * warmUp) return Math.max(1, Math.round((times * milliseconds) / 1000 / seconds))
  }
}

/** How often a second the work is done, turn by turn. */
const measureRates = async (works: ReadonlyArray<Work>, { rounds, milliseconds }: Effort) => {
  const times: Array<number> = []
  for (const work of works) times.push(await estimateRuns(work, milliseconds))
  const rates = works.map((): Array<number> => [])
  for (let round = 0; round < rounds; round++) {
    // Whoever begins a round may find the machine otherwise than whoever follows: they take turns in that too.
    const order = [...works.keys()]
    if (round % 2 === 1) order.reverse()
    for (const index of order) {
      const count = times[index] ?? 1
      rates[index]?.push(count / (await timeWork(works[index] as Work, count)))
    }
  }
  return rates
}

export const compare = async (ours: Work, floor: Work, effort: Effort): Promise<Comparison> => {
  const [mine = [], other = []] = await measureRates([ours, floor], effort)
  return {
    ours: toSpread(mine).median,
    floor: toSpread(other).median,
    ratio: toSpread(mine.map((rate, round) => rate / (other[round] ?? Number.NaN)))
  }
}

/** One after the other. */
export const runSequentially =
  (work: (index: number) => Promise<unknown>): Work =>
  async (times) => {
    for (let index = 0; index < times; index++) await work(index)
  }

/** So many at once, all the time. */
export const runConcurrently =
  (many: number, work: (index: number) => Promise<unknown>): Work =>
  async (times) => {
    let next = 0
    const worker = async () => {
      while (next < times) await work(next++)
    }
    await Promise.all(Array.from({ length: many }, worker))
  }
