/**
 * Trials: when one ends, and what a subscription becomes then.
 */
import { DateTime } from "effect"
import type { StoredPlan } from "./Plan.ts"
import type { StoredSubscription, SubscriptionCreate, SubscriptionStatus } from "./Subscription.ts"

/** What a subscription becomes when its trial is over. */
const statusAfterTrial: ReadonlyMap<string, SubscriptionStatus> = new Map([
  ["active", "active"],
  ["cancel", "canceled"],
  ["canceled", "canceled"],
  ["cancelled", "canceled"],
  ["pause", "inactive"],
  ["paused", "inactive"]
])

/** No longer text is a trial end status: whatever is, means the same. */
export const longestTrialEndStatus = Math.max(...[...statusAfterTrial.keys()].map(({ length }) => length))

/** A word that is not known must not give a subscription away. */
const statusAfter = (trialEndStatus = "active"): SubscriptionStatus =>
  statusAfterTrial.get(trialEndStatus) ?? "inactive"

export const hasEnded = ({ status, trialEndDate }: StoredSubscription, now: DateTime.Utc): boolean =>
  status === "trialing" && trialEndDate !== undefined && DateTime.isLessThanOrEqualTo(trialEndDate, now)

/** The status as it is at this moment, whether or not it has been written. */
export const statusAt = (subscription: StoredSubscription, now: DateTime.Utc): SubscriptionStatus =>
  hasEnded(subscription, now) ? statusAfter(subscription.trialEndStatus) : subscription.status

/** The last that can be written in four digits. */
const lastMoment = DateTime.makeUnsafe("9999-12-31T23:59:59.999Z")

/** The dates of a new trial, from the first plan that has one, where they were not given. */
export const initialTrial = (
  { status, trialStartDate, trialEndDate, trialEndStatus }: SubscriptionCreate,
  plans: ReadonlyArray<StoredPlan>,
  now: DateTime.Utc
): Pick<StoredSubscription, "trialStartDate" | "trialEndDate" | "trialEndStatus"> => {
  if (status !== "trialing") return {}
  const plan = plans.find(({ trialDays }) => trialDays !== undefined)
  const start = trialStartDate ?? now
  const days = plan?.trialDays
  const end = trialEndDate ?? (days === undefined ? undefined : DateTime.min(DateTime.add(start, { days }), lastMoment))
  const after = trialEndStatus ?? plan?.trialEndStatus
  return {
    trialStartDate: start,
    ...(end === undefined ? {} : { trialEndDate: end }),
    ...(after === undefined ? {} : { trialEndStatus: after })
  }
}
