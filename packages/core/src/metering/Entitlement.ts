/**
 * What a subscription is entitled to, as it was read, and the checks that make a commit fail if it is so no longer.
 */
import { DateTime } from "effect"
import type { StoredPlan } from "../plans/Plan.ts"
import { planRecords } from "../plans/planRecords.ts"
import type { Entry } from "../store/Collection.ts"
import type { Change } from "../store/Store.ts"
import type { StoredSubscription } from "../subscriptions/Subscription.ts"
import { subscriptionRecords } from "../subscriptions/subscriptionRecords.ts"
import type { Bucket } from "./Bucket.ts"
import { rootRecords } from "./bucketRecords.ts"
import * as Period from "./Period.ts"

export interface Entitlement {
  readonly root: Entry<Bucket>
  readonly subscription: Entry<StoredSubscription>
  readonly plans: ReadonlyArray<Entry<StoredPlan>>
}

/** Refuses a commit unless bucket, subscription and plans are still as they were read. */
export const guards = ({ root, subscription, plans }: Entitlement): ReadonlyArray<Change> => [
  rootRecords.unchanged(root),
  subscriptionRecords.unchanged(subscription),
  ...plans.map(planRecords.unchanged)
]

/** The share of the maxima that counts in a period. */
const shareIn = ({ prorated }: StoredSubscription, { start }: Period.Period): number =>
  prorated !== undefined && DateTime.Equivalence(prorated.periodStart, start) ? prorated.share : 1

/** A product without what binary fractions add to it or take from it: 100 × 0.29 is 29. */
export const exact = (product: number): number => Number(product.toPrecision(12))

/** What is counted against in a period: it is the same for every use, until the period ends or something changes. */
export interface Allowance {
  readonly period: Period.Period
  readonly maxima: ReadonlyMap<string, number>
}

const allowances = new WeakMap<StoredSubscription, Allowance & { readonly plans: Entitlement["plans"] }>()

const isSame = (left: Entitlement["plans"], right: Entitlement["plans"]): boolean =>
  left.length === right.length && left.every(({ value }, index) => value === right[index]?.value)

/** The period that a moment lies in, and the maxima of the plans in it. */
export const allowanceAt = (entitlement: Entitlement, now: DateTime.Utc): Allowance => {
  const { subscription, plans } = entitlement
  const known = allowances.get(subscription.value)
  if (known !== undefined && Period.includes(known.period, now) && isSame(known.plans, plans)) return known
  const { quotaResetAnchor, renewalStrategy } = subscription.value
  const period = Period.containing(quotaResetAnchor, renewalStrategy, now)
  const allowance = { period, maxima: maximaIn(entitlement, period), plans }
  allowances.set(subscription.value, allowance)
  return allowance
}

/** The maxima of a period: plans with the same meter add up, and fractions do not count. */
const maximaIn = ({ subscription, plans }: Entitlement, period: Period.Period): ReadonlyMap<string, number> => {
  const share = shareIn(subscription.value, period)
  const maxima = new Map<string, number>()
  for (const { value } of plans) {
    for (const [meter, { max }] of Object.entries(value.meters)) {
      const sum = (maxima.get(meter) ?? 0) + Math.floor(exact(max * share))
      maxima.set(meter, Math.min(sum, Number.MAX_SAFE_INTEGER))
    }
  }
  return maxima
}
