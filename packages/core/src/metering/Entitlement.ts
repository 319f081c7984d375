/**
 * What a subscription is entitled to, as it was read, and the checks that make a commit fail if it is so no longer.
 */
import { DateTime } from "effect"
import type { Entry } from "../store/Collection.ts"
import type { Change } from "../store/Store.ts"
import { floorProduct } from "./decimalProduct.ts"
import type { MeteringBucket } from "./MeteringBucket.ts"
import { rootRecords } from "./meteringBucketRecords.ts"
import * as Period from "./Period.ts"
import type { StoredPlan } from "./Plan.ts"
import { planRecords } from "./planRecords.ts"
import type { StoredSubscription } from "./Subscription.ts"
import { subscriptionRecords } from "./subscriptionRecords.ts"

export interface Entitlement {
  readonly root: Entry<MeteringBucket>
  readonly subscription: Entry<StoredSubscription>
  /** The maxima of each plan, by meter. */
  readonly maxima: ReadonlyArray<ReadonlyMap<string, number>>
  /** Refuse a commit unless bucket, subscription and plans are still as they were read. */
  readonly guards: ReadonlyArray<Change>
}

/** What an entitlement takes in memory, roughly, in bytes. */
export const weigh = ({ maxima, guards }: Entitlement): number =>
  1_000 + 200 * guards.length + 100 * maxima.reduce((meters, { size }) => meters + size, 0)

interface Parts {
  readonly root: Entry<MeteringBucket>
  readonly subscription: Entry<StoredSubscription>
  readonly plans: ReadonlyArray<Entry<StoredPlan>>
}

/** Made once, and remembered for many uses: of the plans, only what quotas are computed from. */
export const make = ({ root, subscription, plans }: Parts, extraGuards: ReadonlyArray<Change> = []): Entitlement => ({
  root,
  subscription,
  maxima: plans.map(({ value }) => new Map(Object.entries(value.meters).map(([meter, { max }]) => [meter, max]))),
  guards: [
    rootRecords.assertUnchanged(root),
    subscriptionRecords.assertUnchanged(subscription),
    ...plans.map(planRecords.assertUnchanged),
    ...extraGuards
  ]
})

/** The share of the maxima that counts in a period. */
const prorationFactor = ({ prorated }: StoredSubscription, { start }: Period.Period): number =>
  prorated !== undefined && DateTime.Equivalence(prorated.periodStart, start) ? prorated.share : 1

/** What is counted in a period, and against what: the same for every use, until the period ends or something changes. */
export interface PeriodLimits {
  readonly period: Period.Period
  readonly meters: ReadonlyMap<string, { readonly max: number; readonly counter: string }>
}

const cachedLimits = new WeakMap<Entitlement, PeriodLimits>()

/** The counter of a meter in the period that starts then. */
export const counterOf = (subscriptionId: string, meter: string, periodStart: DateTime.Utc): string =>
  `usage:${subscriptionId}:${meter}:${DateTime.toEpochMillis(periodStart)}`

/** The period that a moment lies in, and the maxima of the plans in it. */
export const limitsAt = (entitlement: Entitlement, now: DateTime.Utc): PeriodLimits => {
  const known = cachedLimits.get(entitlement)
  if (known !== undefined && Period.includes(known.period, now)) return known
  const { id, quotaResetAnchor, renewalStrategy } = entitlement.subscription.value
  const period = Period.containing(quotaResetAnchor, renewalStrategy, now)
  const maxima = [...quotaLimits(entitlement, period)]
  const meters = new Map(maxima.map(([meter, max]) => [meter, { max, counter: counterOf(id, meter, period.start) }]))
  const allowance = { period, meters }
  cachedLimits.set(entitlement, allowance)
  return allowance
}

/** The maxima of a period: plans with the same meter add up, and fractions do not count. */
const quotaLimits = (
  { subscription, maxima: ofPlans }: Entitlement,
  period: Period.Period
): ReadonlyMap<string, number> => {
  const share = prorationFactor(subscription.value, period)
  const maxima = new Map<string, number>()
  for (const plan of ofPlans) {
    for (const [meter, max] of plan) {
      const sum = (maxima.get(meter) ?? 0) + floorProduct(max, share)
      maxima.set(meter, Math.min(sum, Number.MAX_SAFE_INTEGER))
    }
  }
  return maxima
}
