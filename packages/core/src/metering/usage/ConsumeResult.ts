/**
 * What a request used: the subscription, its quotas, and the rate limits that it took from.
 */
import { DateTime } from "effect"
import { type RateLimitStatus, toHeaderPolicy } from "../../rateLimits/RateLimitTake.ts"
import type { HeaderPolicy } from "../../rateLimits/rateLimitHeaders.ts"
import type { Entry } from "../../store/Collection.ts"
import type { StoredReservation } from "../ledger/reservationRecords.ts"
import type { Period } from "../model/Period.ts"
import type { Quota, Quotas } from "../model/Quota.ts"
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
  /** The period, the limits and the reservation. */
  readonly receipt: CountReceipt
  /** The reservation that was made. */
  readonly reservation?: Entry<StoredReservation> | undefined
}

/** In epoch milliseconds. */
export interface QuotaPeriod {
  readonly start: number
  readonly end: number
}

export const toQuotaPeriod = ({ start, end }: Period): QuotaPeriod => ({
  start: DateTime.toEpochMillis(start),
  end: DateTime.toEpochMillis(end)
})

/** A quota as the `RateLimit` headers describe it. */
export const toQuotaPolicy = (
  name: string,
  { max, remaining }: Pick<Quota, "max" | "remaining">,
  { start, end }: QuotaPeriod,
  now: number
): HeaderPolicy => ({ name, quota: max, windowMs: end - start, remaining, resetAfterMs: Math.max(1, end - now) })

/** What counted usage reports in the `RateLimit` headers. */
export const getPolicies = ({ quotas, rateLimits }: ConsumedMeters, now: DateTime.Utc): ReadonlyArray<HeaderPolicy> => {
  const period = toQuotaPeriod({ start: quotas.periodStart, end: quotas.resetsOn })
  return toPolicies(rateLimits, quotas.meters, period, DateTime.toEpochMillis(now))
}

/** The rate limits and quotas of a request, for the `RateLimit` headers: limits first, then meters. */
export const toPolicies = (
  rateLimits: ReadonlyArray<RateLimitStatus>,
  meters: Readonly<Record<string, Quota>>,
  period: QuotaPeriod,
  now: number
): ReadonlyArray<HeaderPolicy> => {
  const policies = rateLimits.map(toHeaderPolicy)
  for (const name in meters) policies.push(toQuotaPolicy(name, meters[name] as Quota, period, now))
  return policies
}
