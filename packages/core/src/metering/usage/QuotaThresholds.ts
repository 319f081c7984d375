/**
 * The shares of a quota at which usage writes an event, once for each period, meter and threshold.
 */
import { Context, Schema } from "effect"
import { ceilProduct } from "../model/decimalProduct.ts"

/** The data of the event `quota.threshold_reached`. */
export const QuotaEvent = Schema.Struct({
  meteringBucketId: Schema.String,
  subscriptionId: Schema.String,
  /** The name of the consumer that the subscription belongs to. */
  customerKey: Schema.String,
  meter: Schema.String,
  /** The share of `max` that was reached: 0.8 is 80 %. */
  threshold: Schema.Finite,
  used: Schema.Int,
  max: Schema.Int,
  periodStart: Schema.String,
  /** Absent if the quota never resets. */
  resetsOn: Schema.optionalKey(Schema.String)
})
export interface QuotaEvent extends Schema.Schema.Type<typeof QuotaEvent> {}

/** The value of `QuotaThresholds`. */
export interface QuotaThresholdsShape {
  /** Shares of the quota: numbers greater than 0 and at most 1. */
  readonly thresholds: ReadonlyArray<number>
}

export const defaultThresholds: ReadonlyArray<number> = [0.8, 1]

/** The shares of a quota at which usage writes an event. */
export const QuotaThresholds = Context.Reference<QuotaThresholdsShape>("@tollgate/core/metering/QuotaThresholds", {
  defaultValue: () => ({ thresholds: defaultThresholds })
})

/** How much of the quota of each meter is used. */
export type MeterUsage = Readonly<Record<string, { readonly max: number; readonly used: number }>>

/** Whether a meter may have reached a threshold. A quick check without the exact product, for the hot path. */
export const mayHaveReached = (thresholds: ReadonlyArray<number>, usage: MeterUsage): boolean => {
  for (const meter in usage) {
    const { used = 0, max = 0 } = usage[meter] ?? {}
    for (const threshold of thresholds) if (max > 0 && used + 1 >= max * threshold) return true
  }
  return false
}

export const getReachedThresholds = (
  thresholds: ReadonlyArray<number>,
  used: number,
  max: number
): ReadonlyArray<number> => thresholds.filter((threshold) => max > 0 && used >= ceilProduct(max, threshold))
