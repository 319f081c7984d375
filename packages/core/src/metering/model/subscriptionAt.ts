/**
 * A subscription as it is at a time: with the end of its trial and its pending change, which a job writes only a while later.
 */

import { DateTime } from "effect"
import { getDueChange, type StoredPendingChange } from "./PendingChange.ts"
import type { StoredSubscription } from "./Subscription.ts"
import * as Trial from "./Trial.ts"

const applyChange = (
  { pendingChange: _, ...subscription }: StoredSubscription,
  { planIds = subscription.planIds, status, effectiveOn }: StoredPendingChange
): StoredSubscription => ({
  ...subscription,
  planIds,
  updatedOn: effectiveOn,
  ...(status === undefined ? {} : { status, canceledOn: subscription.canceledOn ?? effectiveOn })
})

/** The subscription as it is to be written: what is due needs no job to act. */
export const subscriptionAt = (subscription: StoredSubscription, now: DateTime.Utc): StoredSubscription => {
  const change = getDueChange(subscription, now)
  if (change === undefined) return Trial.withStatusAt(now, subscription)
  // A trial that ends later goes on, unless the subscription is canceled.
  const before = Trial.withStatusAt(change.effectiveOn, subscription)
  return Trial.withStatusAt(now, applyChange(before, change))
}

/** The subscription with the time since which it is canceled, or without one. */
export const withCanceledOn = (
  { canceledOn, ...subscription }: StoredSubscription,
  now: DateTime.Utc
): StoredSubscription =>
  subscription.status === "canceled" ? { ...subscription, canceledOn: canceledOn ?? now } : subscription

/** When a stored subscription changes by itself, the earliest first. */
export const getDueTimes = (subscription: StoredSubscription): ReadonlyArray<DateTime.Utc> => {
  const { trialEndDate, pendingChange } = subscription
  return [
    ...(Trial.canEnd(subscription) && trialEndDate !== undefined ? [trialEndDate] : []),
    ...(pendingChange === undefined ? [] : [pendingChange.effectiveOn])
  ].sort(DateTime.Order)
}

/** Whether the subscription has changed by itself since it was written. */
export const isOutdated = (subscription: StoredSubscription, now: DateTime.Utc): boolean =>
  getDueTimes(subscription).some((time) => DateTime.isLessThanOrEqualTo(time, now))
