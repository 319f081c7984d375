/**
 * Notifies your application when usage reaches a share of a quota, once for each period, meter and threshold.
 */
import { Context, Effect } from "effect"
import { ceilProduct } from "./decimalProduct.ts"

export interface QuotaEvent {
  readonly meteringBucketId: string
  readonly subscriptionId: string
  /** The name of the consumer that the subscription belongs to. */
  readonly customerKey: string
  readonly meter: string
  /** The share of `max` that was reached: 0.8 is 80 %. */
  readonly threshold: number
  readonly used: number
  readonly max: number
  readonly periodStart: string
  readonly resetsOn: string
}

export interface QuotaThresholdsShape {
  readonly thresholds: ReadonlyArray<number>
  readonly notify: (event: QuotaEvent) => Effect.Effect<void>
}

export const QuotaThresholds = Context.Reference<QuotaThresholdsShape>("@tollgate/core/metering/QuotaThresholds", {
  defaultValue: () => ({ thresholds: [], notify: () => Effect.void })
})

export const getReachedThresholds = (
  thresholds: ReadonlyArray<number>,
  used: number,
  max: number
): ReadonlyArray<number> => (max === 0 ? [] : thresholds.filter((threshold) => used >= ceilProduct(max, threshold)))
