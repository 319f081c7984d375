/**
 * What a subscription may consume: its plans' limits as they were read, and the preconditions that make a commit fail
 * if they have changed since.
 */
import { DateTime } from "effect"
import { type RateLimitPolicy, selectHigher, toPolicy } from "../../rateLimits/RateLimit.ts"
import { makeTake, type RateLimitTake } from "../../rateLimits/RateLimitTake.ts"
import type { Entry } from "../../store/Collection.ts"
import type { Change } from "../../store/Store.ts"
import { floorProduct } from "./decimalProduct.ts"
import type { MeteringBucket } from "./MeteringBucket.ts"
import { meteringBucketRecords } from "./meteringBucketRecords.ts"
import * as Period from "./Period.ts"
import type { StoredPlan } from "./Plan.ts"
import { planRecords } from "./planRecords.ts"
import type { StoredSubscription } from "./Subscription.ts"
import { subscriptionRecords } from "./subscriptionRecords.ts"
import * as Trial from "./Trial.ts"
import { toUsedSubscription, type UsedSubscription } from "./UsedSubscription.ts"
import { getUsedCounter } from "./usageCounters.ts"

export interface Entitlement {
  readonly bucketEntry: Entry<MeteringBucket>
  readonly subscription: Entry<StoredSubscription>
  /** The limits of each plan, by meter. */
  readonly planLimits: ReadonlyArray<ReadonlyMap<string, number>>
  /** Takes one request from each rate limit of the plans. */
  readonly rateLimitTakes: ReadonlyArray<RateLimitTake>
  /** Preconditions: bucket, subscription and plans have not changed since they were read. */
  readonly preconditions: ReadonlyArray<Change>
}

/** The approximate size of an entitlement in memory, in bytes. */
export const estimateSize = ({ planLimits, preconditions, rateLimitTakes }: Entitlement): number =>
  1_000 +
  200 * preconditions.length +
  500 * rateLimitTakes.length +
  100 * planLimits.reduce((meters, { size }) => meters + size, 0)

interface EntitlementRecords {
  readonly bucketEntry: Entry<MeteringBucket>
  readonly subscription: Entry<StoredSubscription>
  readonly plans: ReadonlyArray<Entry<StoredPlan>>
}

/** The rate limits of all plans. Of several with the same name, the highest counts. */
const combineRateLimits = (plans: ReadonlyArray<Entry<StoredPlan>>): ReadonlyArray<RateLimitPolicy> => {
  const policies = new Map<string, RateLimitPolicy>()
  for (const { value } of plans) {
    for (const [name, rateLimit] of Object.entries(value.rateLimits ?? {})) {
      const policy = toPolicy(name, rateLimit)
      policies.set(name, selectHigher(policies.get(name) ?? policy, policy))
    }
  }
  return [...policies.values()]
}

/** Keeps only the limits of the plans, because entitlements are cached. */
export const make = (
  { bucketEntry, subscription, plans }: EntitlementRecords,
  extraPreconditions: ReadonlyArray<Change> = []
): Entitlement => ({
  bucketEntry,
  subscription,
  planLimits: plans.map(({ value }) => new Map(Object.entries(value.meters).map(([meter, { max }]) => [meter, max]))),
  rateLimitTakes: combineRateLimits(plans).map((policy) =>
    makeTake(policy, { kind: "subscription", id: subscription.value.id }, 1)
  ),
  preconditions: [
    meteringBucketRecords.assertUnchanged(bucketEntry),
    subscriptionRecords.assertUnchanged(subscription),
    ...plans.map(planRecords.assertUnchanged),
    ...extraPreconditions
  ]
})

/** The share of the limits that applies in a period; 1 unless the subscription is prorated in it. */
const getProratedShare = ({ prorated }: StoredSubscription, { start }: Period.Period): number =>
  prorated !== undefined && DateTime.Equivalence(prorated.periodStart, start) ? prorated.share : 1

/** What applies in a period: the limit and the usage counter of each meter, and the status of the subscription. */
export interface PeriodLimits {
  readonly period: Period.Period
  readonly meters: ReadonlyMap<string, { readonly max: number; readonly counter: string }>
  readonly subscription: UsedSubscription
  /** Epoch milliseconds. A trial that ends divides its period. */
  readonly appliesFrom: number
  readonly appliesUntil: number
}

const cachedLimits = new WeakMap<Entitlement, PeriodLimits>()

/** Counters outlive their period by a day, because the clocks of other processes may be behind. */
const counterGracePeriodMs = 24 * 60 * 60 * 1000

/** How long the counters of notified thresholds in a period are kept, in milliseconds from now. */
export const getCounterTtl = ({ end }: Period.Period, now: DateTime.Utc): number =>
  DateTime.toEpochMillis(end) - DateTime.toEpochMillis(now) + counterGracePeriodMs

/** The current period and what applies in it. Cached until the period or the trial ends. */
export const limitsAt = (entitlement: Entitlement, now: DateTime.Utc): PeriodLimits => {
  const cached = cachedLimits.get(entitlement)
  const { epochMilliseconds } = now
  if (cached !== undefined && cached.appliesFrom <= epochMilliseconds && epochMilliseconds < cached.appliesUntil) {
    return cached
  }
  const subscription = entitlement.subscription.value
  const { id, quotaResetAnchor, renewalStrategy } = subscription
  const period = Period.periodAt(quotaResetAnchor, renewalStrategy, now)
  const meters = new Map(
    [...computeLimits(entitlement, period)].map(([meter, max]) => [
      meter,
      { max, counter: getUsedCounter(id, meter, DateTime.toEpochMillis(period.start)) }
    ])
  )
  const trialEnd = Trial.getEnd(subscription)
  const isTrialOver = trialEnd <= epochMilliseconds
  const [start, end] = [DateTime.toEpochMillis(period.start), DateTime.toEpochMillis(period.end)]
  const limits = {
    period,
    meters,
    subscription: toUsedSubscription(subscription, Trial.statusAt(subscription, now)),
    appliesFrom: isTrialOver ? Math.max(start, trialEnd) : start,
    appliesUntil: isTrialOver ? end : Math.min(end, trialEnd)
  }
  cachedLimits.set(entitlement, limits)
  return limits
}

/** The limit of each meter in a period: the sum over the plans, each prorated and rounded down. */
const computeLimits = (
  { subscription, planLimits }: Entitlement,
  period: Period.Period
): ReadonlyMap<string, number> => {
  const share = getProratedShare(subscription.value, period)
  const limits = new Map<string, number>()
  for (const plan of planLimits) {
    for (const [meter, max] of plan) {
      const sum = (limits.get(meter) ?? 0) + floorProduct(max, share)
      limits.set(meter, Math.min(sum, Number.MAX_SAFE_INTEGER))
    }
  }
  return limits
}
