/**
 * The periods in which the meters of a reservation count.
 */
import { Schema } from "effect"
import { PeriodId } from "./Period.ts"

export const reservedPeriods = {
  /** The start of the period of the subscription, in epoch milliseconds. */
  periodStart: Schema.Int,
  /** By meter, of those with another period. */
  periods: Schema.optionalKey(Schema.Record(Schema.String, PeriodId))
}

const ReservedPeriods = Schema.Struct(reservedPeriods)
export type ReservedPeriods = typeof ReservedPeriods.Type

/** The period in which a meter counts. */
export const getPeriodId = ({ periodStart, periods = {} }: ReservedPeriods, meter: string): PeriodId =>
  Object.hasOwn(periods, meter) ? (periods[meter] ?? periodStart) : periodStart
