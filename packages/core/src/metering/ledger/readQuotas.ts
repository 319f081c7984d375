import { Partition, retryOnConflict, StoreConflict } from "@tollgate/store/internal"
import { type DateTime, Effect } from "effect"
import { readSettledEntitlement } from "../credits/settleCredit.ts"
import { creditRecords } from "../model/Credit.ts"
import * as Entitlement from "../model/Entitlement.ts"
import { makeQuota, type Quotas } from "../model/Quota.ts"
import { getUsageId } from "../model/Subscription.ts"
import { giveBackExpired } from "./giveBackExpired.ts"
import { readUsage } from "./readUsage.ts"

/**
 * The quotas of a subscription. Expired reservations are given back first. Fails with a stale `StoreConflict` if what they
 * give back returns to grants: they are to be read again.
 */
export const readQuotas = Effect.fnUntraced(function* (
  bucketId: string,
  entitlement: Entitlement.Entitlement,
  now: DateTime.Utc
) {
  const usageId = getUsageId(entitlement.subscription.value)
  const { period, meters } = Entitlement.limitsAt(entitlement, now)
  const periods = [...meters].map(([meter, { periodId }]) => ({ start: periodId, meters: [meter] }))
  const read = readUsage(Partition.forMeteringBucket(bucketId), usageId, periods)
  let usage = yield* read
  if ([...meters].some(([meter, { periodId }]) => usage.readHeld(meter, periodId) > 0)) {
    const { givenBack } = yield* giveBackExpired(bucketId, usageId, now)
    if (givenBack > 0 && entitlement.credit !== undefined) {
      return yield* new StoreConflict({ reason: "stale", subject: creditRecords.recordKey("") })
    }
    usage = yield* read
  }
  const quotas = [...meters].map(([meter, { max, periodId, otherPeriod, credit }]) => {
    const used = usage.read(meter, periodId) + usage.readHeld(meter, periodId)
    return [meter, makeQuota(max, used, otherPeriod, credit)] as const
  })
  return { meters: Object.fromEntries(quotas), periodStart: period.start, resetsOn: period.end } satisfies Quotas
})

/** The quotas of a subscription, with its credit settled. */
export const readSettledQuotas = (bucketId: string, subscriptionId: string, now: DateTime.Utc) =>
  retryOnConflict(
    Effect.flatMap(readSettledEntitlement(bucketId, subscriptionId, now), (entitlement) =>
      readQuotas(bucketId, entitlement, now)
    )
  )
