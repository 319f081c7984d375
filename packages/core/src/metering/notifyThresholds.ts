/**
 * Notifies your application of each threshold that usage has reached, once in each period. A counter with a maximum of 1
 * marks a threshold as notified: only the process whose commit increments it sends the notification. If the store is
 * unavailable, the next `consume` tries again. A failure never affects the counted usage.
 */
import { DateTime, Effect, Result } from "effect"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import type { TrustedClock } from "../runtime/TrustedClock.ts"
import * as Partition from "../store/Partition.ts"
import { Change, type StoreOperations } from "../store/Store.ts"
import { type Entitlement, getCounterTtl, type PeriodLimits } from "./Entitlement.ts"
import { meteringBucketRecords } from "./meteringBucketRecords.ts"
import type { Quotas } from "./Quota.ts"
import { getReachedThresholds, type QuotaThresholdsShape } from "./QuotaThresholds.ts"

/** How many notified thresholds a process remembers, so that it does not ask the store again. */
const maxNotified = 10_000

interface Services {
  readonly store: StoreOperations
  readonly quotaThresholds: QuotaThresholdsShape
  readonly trustedClock: TrustedClock["Service"]
}

export const makeNotifyThresholds = ({ store, quotaThresholds, trustedClock }: Services) => {
  const notified = new BoundedMap<string, true>(maxNotified)
  return Effect.fnUntraced(function* (
    bucketId: string,
    entitlement: Entitlement,
    { period, meters }: PeriodLimits,
    quotas: Quotas
  ) {
    const { bucketEntry, subscription } = entitlement
    const { id: subscriptionId, customerKey } = subscription.value
    const ttl = getCounterTtl(period, yield* trustedClock.now)
    for (const [meter, { max, used }] of Object.entries(quotas.meters)) {
      for (const threshold of getReachedThresholds(quotaThresholds.thresholds, used, max)) {
        // `told:` means notified. The name is stored, so it cannot change.
        const marker = `told:${meters.get(meter)?.counter}:${threshold}`
        if (notified.has(marker)) continue
        const changes = [
          meteringBucketRecords.assertUnchanged(bucketEntry),
          Change.Add({ counter: marker, by: 1, max: 1, ttl })
        ]
        const result = yield* Effect.result(store.commit(Partition.forMeteringBucket(bucketId), changes))
        if (Result.isFailure(result) && result.failure._tag === "StoreUnavailable") {
          yield* Effect.logError(result.failure.message)
          continue
        }
        notified.set(marker, true)
        // A conflict: another process has sent the notification, or the bucket was removed.
        if (Result.isFailure(result)) continue
        const [periodStart, resetsOn] = [DateTime.formatIso(period.start), DateTime.formatIso(period.end)]
        yield* quotaThresholds.notify({
          meteringBucketId: bucketId,
          subscriptionId,
          customerKey,
          meter,
          threshold,
          used,
          max,
          periodStart,
          resetsOn
        })
      }
    }
  })
}
