/**
 * Measures two implementations alternately, so that noise on the machine affects both equally. No round is discarded: the
 * spread includes the slow ones.
 */

/** Runs an operation `times` times. */
export type Work = (times: number) => Promise<void>

export interface Effort {
  /** The number of measurements of each implementation. */
  readonly rounds: number
  /** The approximate duration of one measurement. */
  readonly milliseconds: number
}

export interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

export interface Comparison {
  /** Median of the operations per second of Tollgate; for latencies, how many calls in a row take a second. */
  readonly ours: number
  /** The same for the baseline. */
  readonly baseline: number
  /** Tollgate divided by the baseline, per round. */
  readonly ratio: Spread
}

export const toSpread = (values: ReadonlyArray<number>): Spread => {
  const sorted = values.toSorted((left, right) => left - right)
  const quantile = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
  return { median: quantile(0.5), low: quantile(0), high: quantile(1) }
}

const timeWork = async (work: Work, times: number): Promise<number> => {
  const start = performance.now()
  await work(times)
  return (performance.now() - start) / 1000
}

/** Warm up for this many milliseconds first: a long-running server runs optimized code. */
const warmUpMs = 1_500

/** Warms up, and estimates how many operations take `milliseconds`. */
const estimateRuns = async (work: Work, milliseconds: number): Promise<number> => {
  let elapsedMs = 0
  for (let times = 16; ; times *= 2) {
    const seconds = await timeWork(work, times)
    elapsedMs += seconds * 1000
    if (elapsedMs >= warmUpMs) return Math.max(1, Math.round((times * milliseconds) / 1000 / seconds))
  }
}

/** The operations per second of each implementation, per round. */
const measureRates = async (works: ReadonlyArray<Work>, { rounds, milliseconds }: Effort) => {
  const times: Array<number> = []
  for (const work of works) times.push(await estimateRuns(work, milliseconds))
  const rates = works.map((): Array<number> => [])
  for (let round = 0; round < rounds; round++) {
    // Alternate the order, because the position within a round may affect the result.
    const order = [...works.keys()]
    if (round % 2 === 1) order.reverse()
    for (const index of order) {
      const count = times[index] ?? 1
      rates[index]?.push(count / (await timeWork(works[index] as Work, count)))
    }
  }
  return rates
}

export const compare = async (ours: Work, baseline: Work, effort: Effort): Promise<Comparison> => {
  const [ourRates = [], baselineRates = []] = await measureRates([ours, baseline], effort)
  return {
    ours: toSpread(ourRates).median,
    baseline: toSpread(baselineRates).median,
    ratio: toSpread(ourRates.map((rate, round) => rate / (baselineRates[round] ?? Number.NaN)))
  }
}

type Call = (index: number) => Promise<unknown>

/** Calls two functions in turn. Returns the median latency of each in milliseconds. */
const measureLatencies = async (calls: readonly [Call, Call], milliseconds: number) => {
  const latencies: readonly [Array<number>, Array<number>] = [[], []]
  const end = performance.now() + milliseconds
  for (let index = 0; performance.now() < end; index++) {
    for (const which of index % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const start = performance.now()
      await calls[which](index)
      latencies[which].push(performance.now() - start)
    }
  }
  return { ours: toSpread(latencies[0]).median, baseline: toSpread(latencies[1]).median }
}

/**
 * Compares the median latencies of single calls. Unlike throughput, they leave out what the process does between calls. As
 * with `compare`, a ratio below 1 means that Tollgate is slower.
 */
export const compareLatency = async (
  ours: Call,
  baseline: Call,
  { rounds, milliseconds }: Effort
): Promise<Comparison> => {
  const measureRound = () => measureLatencies([ours, baseline], milliseconds * 2)
  const end = performance.now() + warmUpMs
  while (performance.now() < end) await measureRound()
  const medians: Array<Awaited<ReturnType<typeof measureRound>>> = []
  for (let round = 0; round < rounds; round++) medians.push(await measureRound())
  return {
    ours: 1000 / toSpread(medians.map(({ ours }) => ours)).median,
    baseline: 1000 / toSpread(medians.map(({ baseline }) => baseline)).median,
    ratio: toSpread(medians.map(({ ours, baseline }) => baseline / ours))
  }
}

export const runSequentially =
  (work: (index: number) => Promise<unknown>): Work =>
  async (times) => {
    for (let index = 0; index < times; index++) await work(index)
  }

/** Keeps `concurrency` calls in flight. */
export const runConcurrently =
  (concurrency: number, work: (index: number) => Promise<unknown>): Work =>
  async (times) => {
    let next = 0
    const worker = async () => {
      while (next < times) await work(next++)
    }
    await Promise.all(Array.from({ length: concurrency }, worker))
  }
