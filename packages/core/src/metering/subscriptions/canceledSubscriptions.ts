/**
 * The subscription that a customer returns to: the one that was canceled last, if its period is not over. A new subscription
 * may continue its usage: the counters and the history stay where they are, and it refers to them.
 */

import { type Entry, Partition } from "@tollgate/store/internal"
import { DateTime, Effect, Option } from "effect"
import { readConsumingSubscriptions } from "../model/customerEntitlements.ts"
import * as Period from "../model/Period.ts"
import { getUsageId, type StoredSubscription } from "../model/Subscription.ts"
import { subscriptionAt } from "../model/subscriptionAt.ts"
import { byCustomer, byStatus, byUsageOf, subscriptionRecords } from "../model/subscriptionRecords.ts"

/** How many of a customer's newest canceled subscriptions are considered: more than most customers ever have. */
const maxCanceled = 100

/** When a subscription was canceled, if that was in the period that contains a time. */
const getCanceledOn = (stored: StoredSubscription, now: DateTime.Utc): DateTime.Utc | undefined => {
  const { canceledOn, quotaResetAnchor, renewalStrategy } = subscriptionAt(stored, now)
  return canceledOn !== undefined &&
    Period.includes(Period.periodAt(quotaResetAnchor, renewalStrategy, now), canceledOn)
    ? canceledOn
    : undefined
}

/** The subscription of a customer that was canceled last in its present period, if there is one. */
export const findCanceledInPeriod = Effect.fnUntraced(function* (
  bucketId: string,
  customerKey: string,
  now: DateTime.Utc,
  strategy?: Period.RenewalStrategy
) {
  const { entries } = yield* subscriptionRecords.page(Partition.forMeteringBucket(bucketId), {
    where: [byCustomer(customerKey), byStatus("canceled")],
    offset: 0,
    limit: maxCanceled,
    descending: true
  })
  // Some are canceled, and no job has written it yet.
  const { entries: consuming } = yield* readConsumingSubscriptions(bucketId, customerKey)
  let latest: { readonly entry: Entry<StoredSubscription>; readonly canceledOn: DateTime.Utc } | undefined
  for (const entry of [...consuming, ...entries]) {
    const canceledOn = getCanceledOn(entry.value, now)
    if (canceledOn === undefined || (strategy ?? entry.value.renewalStrategy) !== entry.value.renewalStrategy) continue
    if (latest === undefined || DateTime.isGreaterThan(canceledOn, latest.canceledOn)) latest = { entry, canceledOn }
  }
  return latest?.entry
})

/** What a new subscription takes over from the one that it continues; nothing if there is none with the same periods. */
export const findContinued = Effect.fnUntraced(function* (
  bucketId: string,
  { customerKey, renewalStrategy }: Pick<StoredSubscription, "customerKey" | "renewalStrategy">,
  now: DateTime.Utc
) {
  const entry = yield* findCanceledInPeriod(bucketId, customerKey, now, renewalStrategy)
  if (entry === undefined) return {}
  const { id, createdOn, quotaResetAnchor, usageOf = { subscriptionId: id, createdOn } } = entry.value
  return { quotaResetAnchor, usageOf }
})

/** Whether another subscription counts in the same counters. */
export const isUsageShared = Effect.fnUntraced(function* (bucketId: string, subscription: StoredSubscription) {
  const partition = Partition.forMeteringBucket(bucketId)
  const usageId = getUsageId(subscription)
  const { total } = yield* subscriptionRecords.page(partition, { where: [byUsageOf(usageId)], offset: 0, limit: 0 })
  if (subscription.usageOf === undefined) return total > 0
  return total > 1 || Option.isSome(yield* subscriptionRecords.get(partition, usageId))
})
