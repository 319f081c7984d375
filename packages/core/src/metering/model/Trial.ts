/**
 * Trials: the dates of a trial, and the status of a subscription after it.
 */
import { DateTime } from "effect"
import type { StoredPlan } from "./Plan.ts"
import type { StoredSubscription, SubscriptionCreate, SubscriptionStatus } from "./Subscription.ts"

/** The status after a trial, by `trialEndStatus`. */
const statusByTrialEndStatus: ReadonlyMap<string, SubscriptionStatus> = new Map([
  ["active", "active"],
  ["cancel", "canceled"],
  ["canceled", "canceled"],
  ["cancelled", "canceled"],
  ["pause", "inactive"],
  ["paused", "inactive"]
])

/** The length of the longest known value. */
export const maxTrialEndStatusLength = Math.max(...[...statusByTrialEndStatus.keys()].map(({ length }) => length))

/** An unknown `trialEndStatus` makes the subscription inactive, so that a typo never grants access. */
const statusAfterTrial = (trialEndStatus = "active"): SubscriptionStatus =>
  statusByTrialEndStatus.get(trialEndStatus) ?? "inactive"

/** Whether there is a trial with an end. */
export const canEnd = ({ status, trialEndDate }: StoredSubscription): boolean =>
  status === "trialing" && trialEndDate !== undefined

/** When the trial ends, in epoch milliseconds; infinity if there is no end. */
export const getEnd = (subscription: StoredSubscription): number =>
  canEnd(subscription) ? (subscription.trialEndDate?.epochMilliseconds ?? 0) : Number.POSITIVE_INFINITY

const hasEnded = (subscription: StoredSubscription, now: DateTime.Utc): boolean =>
  getEnd(subscription) <= DateTime.toEpochMillis(now)

/** The subscription with its status after the trial, if that has ended. */
export const withStatusAt = (now: DateTime.Utc, subscription: StoredSubscription): StoredSubscription => {
  if (!hasEnded(subscription, now)) return subscription
  const status = statusAfterTrial(subscription.trialEndStatus)
  const { trialEndDate: canceledOn = now } = subscription
  return { ...subscription, status, ...(status === "canceled" ? { canceledOn } : {}) }
}

/** The last timestamp with a four-digit year. */
const maxTimestamp = DateTime.makeUnsafe("9999-12-31T23:59:59.999Z")

type TrialFields = Pick<SubscriptionCreate, "status" | "trialStartDate" | "trialEndDate" | "trialEndStatus">

/** The trial fields of a new subscription. Missing fields come from the first plan that has a trial. */
export const makeInitialTrial = (
  { status, trialStartDate, trialEndDate, trialEndStatus }: TrialFields,
  plans: ReadonlyArray<StoredPlan>,
  now: DateTime.Utc
): Pick<StoredSubscription, "trialStartDate" | "trialEndDate" | "trialEndStatus"> => {
  if (status !== "trialing") return {}
  const plan = plans.find(({ trialDays }) => trialDays !== undefined)
  const start = trialStartDate ?? now
  const days = plan?.trialDays
  const end =
    trialEndDate ?? (days === undefined ? undefined : DateTime.min(DateTime.add(start, { days }), maxTimestamp))
  const endStatus = trialEndStatus ?? plan?.trialEndStatus
  return {
    trialStartDate: start,
    ...(end === undefined ? {} : { trialEndDate: end }),
    ...(endStatus === undefined ? {} : { trialEndStatus: endStatus })
  }
}

/**
 * Completes the trial of an updated subscription. If the update starts a trial, the end and the status after it come from
 * the plans if they are missing, as for a new subscription, unless the update removes the end.
 */
export const completeTrial = (
  updated: StoredSubscription,
  isEndRemoved: boolean,
  plansOfNewTrial: ReadonlyArray<StoredPlan> | undefined,
  now: DateTime.Utc
): StoredSubscription => {
  if (plansOfNewTrial === undefined) return updated
  const { trialEndStatus, ...dates } = makeInitialTrial(updated, plansOfNewTrial, now)
  const isEndFromPlan = updated.trialEndDate === undefined && !isEndRemoved && dates.trialEndDate !== undefined
  return {
    ...updated,
    ...(trialEndStatus === undefined ? {} : { trialEndStatus }),
    ...(isEndFromPlan ? dates : {})
  }
}
