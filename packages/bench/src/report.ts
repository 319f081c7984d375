import type { Comparison } from "./measure.ts"
/** One comparison, and what it must reach. */
export interface Row extends Comparison {
  readonly work: string
  readonly against: string
  /** What the ratio must reach. */
  readonly bar: number
}
