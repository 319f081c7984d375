/**
 * The plans that a subscription is to have: found, checked against each other, and what changes with them.
 */

import { type Entry, Partition, type Patch, type RecordUnreadable, Store } from "@tollgate/store/internal"
import { type DateTime, Effect } from "effect"
import * as Period from "../model/Period.ts"
import type { StoredPlan } from "../model/Plan.ts"
import { ConflictingPeriods, UnknownPlan } from "../model/PlanError.ts"
import { byPlanExternalId, planRecords } from "../model/planRecords.ts"
import { type StoredSubscription, type SubscriptionCreate, SubscriptionId } from "../model/Subscription.ts"
import { subscriptionAt, withCanceledOn } from "../model/subscriptionAt.ts"
import * as Trial from "../model/Trial.ts"

export type PlanEntries = ReadonlyArray<Entry<StoredPlan>>

export const toPlanIds = (plans: PlanEntries) => plans.map(({ value }) => value.id)

export const haveSameIds = (left: ReadonlyArray<string>, right: ReadonlyArray<string>): boolean =>
  left.length === right.length && left.every((id) => right.includes(id))

/** The plans with these external ids, in the order of the ids. */
export const findPlansByExternalId = Effect.fnUntraced(function* (
  bucketId: string,
  planExternalIds: ReadonlyArray<string>
) {
  const store = yield* Store
  const uniqueKeys = planExternalIds.map((id) => planRecords.uniqueKey(byPlanExternalId(id)))
  const matches = yield* store.getByUniqueKey(Partition.forMeteringBucket(bucketId), uniqueKeys)
  return yield* Effect.forEach(
    matches,
    (match, index): Effect.Effect<Entry<StoredPlan>, UnknownPlan | RecordUnreadable> =>
      match === undefined
        ? Effect.fail(
            new UnknownPlan({
              detail: `No plan in this metering bucket has the planExternalId "${planExternalIds[index]}"`
            })
          )
        : planRecords.decode(match.record)
  )
})

/** Fails if plans give a meter different periods. */
export const checkPeriods = (
  plans: PlanEntries,
  subscription: Pick<StoredSubscription, "renewalStrategy">
): Effect.Effect<void, ConflictingPeriods> => {
  const kinds = new Map<string, Period.PeriodKind | undefined>()
  for (const { value } of plans) {
    for (const [meter, { period }] of Object.entries(value.meters)) {
      const kind = Period.toOtherKind(period, subscription)
      if (kinds.has(meter) && kinds.get(meter) !== kind) return Effect.fail(new ConflictingPeriods({ meter }))
      kinds.set(meter, kind)
    }
  }
  return Effect.void
}

/** A new subscription. Its trial comes from the first plan that has one, unless it has its own. */
export const makeStoredSubscription = (
  fields: Omit<SubscriptionCreate, "planIds" | "planExternalIds" | "continueUsage">,
  { id, plans, now }: { readonly id: string; readonly plans: PlanEntries; readonly now: DateTime.Utc }
): StoredSubscription => {
  const trialPlans = plans.map(({ value }) => value)
  const subscription = {
    id: SubscriptionId.make(id),
    createdOn: now,
    updatedOn: now,
    ...fields,
    planIds: toPlanIds(plans),
    quotaResetAnchor: fields.quotaResetAnchor ?? now,
    ...Trial.makeInitialTrial(fields, trialPlans, now)
  }
  return withCanceledOn(subscriptionAt(subscription, now), now)
}

/** The share of the limits that applies in the present period. */
export const toProrated = (
  { quotaResetAnchor, renewalStrategy }: Pick<StoredSubscription, "quotaResetAnchor" | "renewalStrategy">,
  share: number,
  now: DateTime.Utc
) => ({ periodStart: Period.periodAt(quotaResetAnchor, renewalStrategy, now).start, share })

/** What a change of plans at once changes of the plans and the proration. Setting the same plans again changes nothing. */
export const computePlanChange = (
  subscription: StoredSubscription,
  plans: PlanEntries | undefined,
  prorate: number | undefined,
  now: DateTime.Utc
): Patch<Pick<StoredSubscription, "planIds" | "prorated">> => {
  if (plans === undefined || haveSameIds(subscription.planIds, toPlanIds(plans))) return {}
  const planIds = toPlanIds(plans)
  return { planIds, prorated: prorate === undefined ? null : toProrated(subscription, prorate, now) }
}
