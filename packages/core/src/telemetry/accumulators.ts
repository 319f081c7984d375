/**
 * The values of counters and histograms. Effect's own are found by name at every update, which the hot path would notice.
 */
import type { Metric } from "effect"

/** What Effect's registry reads when the metrics are collected. */
interface Accumulator<State> {
  readonly record: (value: number) => void
  readonly get: () => State
}

export const makeCounter = (): Accumulator<Metric.CounterState<number>> => {
  let count = 0
  return {
    record: (value) => {
      count += value
    },
    get: () => ({ count, incremental: true })
  }
}

export const makeHistogram = (boundaries: ReadonlyArray<number>): Accumulator<Metric.HistogramState> => {
  /** The last is for values above all boundaries. */
  const counts = new Array<number>(boundaries.length + 1).fill(0)
  const state = { count: 0, sum: 0, min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY }
  return {
    record: (value) => {
      let index = 0
      while (index < boundaries.length && value > (boundaries[index] as number)) index++
      counts[index] = (counts[index] as number) + 1
      state.count++
      state.sum += value
      if (value < state.min) state.min = value
      if (value > state.max) state.max = value
    },
    get: () => {
      let cumulative = 0
      const buckets = boundaries.map((boundary, index): [number, number] => {
        cumulative += counts[index] as number
        return [boundary, cumulative]
      })
      return { ...state, buckets }
    }
  }
}
