/**
 * How the value of a counter divides into what plans and grants give.
 */
import { Schema } from "effect"

/** What the quota of a meter depends on beside its counter. */
export const CreditTerms = Schema.Struct({
  /** What closed segments have charged to grants in the period. */
  charged: Schema.Finite,
  /** The value of the counter when the open segment began, and what allowance and grants had left then. */
  start: Schema.Finite,
  allowance: Schema.Finite,
  granted: Schema.Finite
})
export type CreditTerms = typeof CreditTerms.Type

/** What grants have given of a counter's value since the segment began. */
export const getCreditUsed = ({ start, allowance, granted }: CreditTerms, value: number): number =>
  Math.max(0, Math.min(value - start - allowance, granted))

/** What a counter may reach with credit: a limit without it, and what grants have given and may give. */
export const addCredit = (limit: number, { charged, start, granted }: CreditTerms): number =>
  Math.min(Math.max(limit + charged, granted > 0 ? start : 0) + granted, Number.MAX_SAFE_INTEGER)
