/**
 * What a request used: the subscription, its quotas, and the rate limits that it took from.
 */
import { DateTime } from "effect"
import type { RateLimitStatus } from "../rateLimits/RateLimitUse.ts"
import { type HeaderPolicy, toHeaderPolicy } from "../rateLimits/rateLimitHeaders.ts"
import type { Quotas } from "./Quota.ts"
import type { StoredSubscription } from "./Subscription.ts"

/** The subscription that a request used. */
export type UsedSubscription = Pick<
  StoredSubscription,
  "id" | "status" | "planIds" | "subscriptionExternalId" | "customerExternalId"
>

export const toUsedSubscription = (
  { id, planIds, subscriptionExternalId, customerExternalId }: StoredSubscription,
  status: StoredSubscription["status"]
): UsedSubscription => ({ id, status, planIds, subscriptionExternalId, customerExternalId })

export interface ConsumedMeters {
  /** The quotas of the counted meters. */
  readonly quotas: Quotas
  /** What is left of the rate limits; `undefined` for a replay, which takes nothing. */
  readonly rateLimits?: ReadonlyArray<RateLimitStatus>
}

export interface ConsumeResult extends ConsumedMeters {
  readonly subscription: UsedSubscription
}

/** A quota as the `RateLimit` headers describe it. */
export const toQuotaPolicy = (
  meter: string,
  max: number,
  remaining: number,
  { periodStart, resetsOn }: Pick<Quotas, "periodStart" | "resetsOn">,
  now: number
): HeaderPolicy => {
  const end = DateTime.toEpochMillis(resetsOn)
  return {
    name: meter,
    quota: max,
    windowMs: end - DateTime.toEpochMillis(periodStart),
    remaining,
    resetAfterMs: Math.max(1, end - now)
  }
}

/** The rate limits and quotas of a request, for the `RateLimit` headers: limits first, then meters. */
export const toPolicies = (
  rateLimits: ReadonlyArray<RateLimitStatus>,
  quotas: Quotas | undefined,
  now: number
): ReadonlyArray<HeaderPolicy> => {
  const policies = rateLimits.map(toHeaderPolicy)
  if (quotas === undefined) return policies
  for (const meter in quotas.meters) {
    const quota = quotas.meters[meter]
    if (quota !== undefined) policies.push(toQuotaPolicy(meter, quota.max, quota.remaining, quotas, now))
  }
  return policies
}
