/**
 * What applied to a subscription when a period ended.
 */

import type { Entry } from "@tollgate/store/internal"
import { DateTime, Effect } from "effect"
import * as Entitlement from "../model/Entitlement.ts"
import type { LongPeriod } from "../model/longPeriods.ts"
import type { MeteringBucket } from "../model/MeteringBucket.ts"
import { getPlanIds } from "../model/PendingChange.ts"
import type { EndedPeriod } from "../model/periodClosings.ts"
import { readPlans } from "../model/planRecords.ts"
import type { StoredSubscription } from "../model/Subscription.ts"
import { subscriptionAt } from "../model/subscriptionAt.ts"

/** `until`: when the subscription ended, in epoch milliseconds, if that was before the period. */
export type GetTerms = (period: LongPeriod, until?: number) => EndedPeriod

/** Reads the plans of subscriptions, in one call. Returns the terms of each. */
export const readTerms = Effect.fnUntraced(function* (
  bucketEntry: Entry<MeteringBucket>,
  subscriptions: ReadonlyArray<Entry<StoredSubscription>>
) {
  const planIds = [...new Set(subscriptions.flatMap(({ value }) => getPlanIds(value)))]
  const plans = new Map((yield* readPlans(bucketEntry.value.id, planIds)).map((plan) => [plan.value.id, plan]))
  return subscriptions.map((subscription): GetTerms => {
    const own = getPlanIds(subscription.value).flatMap((id) => plans.get(id) ?? [])
    const entitlement = Entitlement.make({ bucketEntry, subscription, plans: own }, [])
    return ({ id, start, end }, until = end) => {
      const last = DateTime.makeUnsafe(Math.max(start, Math.min(end, until) - 1))
      const { status, planIds } = subscriptionAt(subscription.value, last)
      const { meters } = Entitlement.limitsAt(entitlement, last, true)
      return {
        id,
        status,
        planExternalIds: planIds.flatMap((planId) => plans.get(planId)?.value.planExternalId ?? []),
        maxima: Object.fromEntries(
          [...meters].flatMap(([meter, { max, periodId }]) => (periodId === id ? [[meter, max]] : []))
        )
      }
    }
  })
})
