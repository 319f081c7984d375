/**
 * What a request used: the subscription, its quotas, and the rate limits that it took from.
 */

import type { Entry } from "@tollgate/store/internal"
import type { RateLimitStatus } from "../../rateLimits/RateLimitTake.ts"
import type { HeaderPolicy } from "../../rateLimits/rateLimitHeaders.ts"
import type { Features } from "../model/Features.ts"
import type { MeterPeriod } from "../model/Period.ts"
import type { Quota, Quotas } from "../model/Quota.ts"
import type { StoredReservation } from "../model/reservationRecords.ts"
import type { UsedSubscription } from "../model/UsedSubscription.ts"
import type { CountReceipt } from "./CountReceipt.ts"

export interface ConsumedMeters {
  /** The quotas of the counted meters. */
  readonly quotas: Quotas
  /** What is left of the rate limits. */
  readonly rateLimits: ReadonlyArray<RateLimitStatus>
}

export interface ConsumeResult extends ConsumedMeters {
  readonly subscription: UsedSubscription
  /** The features of the customer, if it has any. */
  readonly features?: Features | undefined
  /** The period, the limits and the reservation. */
  readonly receipt: CountReceipt
  /** The reservation that was made. */
  readonly reservation?: Entry<StoredReservation> | undefined
}

/** A quota as the `RateLimit` headers describe it. `now` is in epoch milliseconds. */
export const toQuotaPolicy = (
  name: string,
  { max, remaining }: Pick<Quota, "max" | "remaining">,
  { start, end }: Pick<MeterPeriod, "start" | "end">,
  now: number
): HeaderPolicy => {
  const policy = { name, limit: max, remaining }
  if (end === undefined) return { ...policy, per: undefined, resetAfterMs: undefined }
  const endMs = end.epochMilliseconds
  return { ...policy, per: endMs - start.epochMilliseconds, resetAfterMs: Math.max(1, endMs - now) }
}

/** The period of a meter: its own, or that of the subscription. */
export const getQuotaPeriod = (
  { periodStart, resetsOn }: Quota,
  quotas: Pick<Quotas, "periodStart" | "resetsOn">
): Pick<MeterPeriod, "start" | "end"> => {
  if (periodStart === undefined) return { start: quotas.periodStart, end: quotas.resetsOn }
  return resetsOn === undefined ? { start: periodStart } : { start: periodStart, end: resetsOn }
}

/** The rate limits and quotas of a request, for the `RateLimit` headers: limits first, then meters. */
export const toPolicies = (
  { quotas, rateLimits = [] }: { readonly [Name in keyof ConsumedMeters]?: ConsumedMeters[Name] | undefined },
  now: number
): ReadonlyArray<HeaderPolicy> => {
  const policies: Array<HeaderPolicy> = [...rateLimits]
  if (quotas === undefined) return policies
  const { meters, periodStart: start, resetsOn: end } = quotas
  for (const name in meters) {
    const quota = meters[name] as Quota
    const period = quota.periodStart === undefined ? { start, end } : getQuotaPeriod(quota, quotas)
    policies.push(toQuotaPolicy(name, quota, period, now))
  }
  return policies
}
