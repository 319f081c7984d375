/**
 * Records an event for each threshold that usage has reached, once in each period. A counter with a maximum of 1 marks a
 * threshold as reported: the commit that increments it also records the event. If the store is unavailable, the next
 * request tries again, also one that is refused. A failure never affects the counted usage.
 */
import { DateTime, Effect, Result } from "effect"
import { asSystem } from "../outbox/CurrentActor.ts"
import { recordEvent } from "../outbox/recordEvent.ts"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import type { TrustedClock } from "../runtime/TrustedClock.ts"
import * as Partition from "../store/Partition.ts"
import { Change, type StoreOperations } from "../store/Store.ts"
import { type Entitlement, getCounterTtl, type PeriodLimits } from "./Entitlement.ts"
import { meteringBucketRecords } from "./meteringBucketRecords.ts"
import { getReachedThresholds, type MeterUsage, type QuotaEvent, type QuotaThresholdsShape } from "./QuotaThresholds.ts"

/** How many reported thresholds a process remembers, so that it does not ask the store again. */
const maxReported = 10_000

interface Services {
  readonly store: StoreOperations
  readonly quotaThresholds: QuotaThresholdsShape
  readonly trustedClock: TrustedClock["Service"]
}

export const makeReportThresholds = ({ store, quotaThresholds, trustedClock }: Services) => {
  const reported = new BoundedMap<string, true>(maxReported)
  return Effect.fnUntraced(function* (
    bucketId: string,
    entitlement: Entitlement,
    { period, meters }: PeriodLimits,
    usage: MeterUsage
  ) {
    const { bucketEntry, subscription } = entitlement
    const { id: subscriptionId, customerKey } = subscription.value
    const ttl = getCounterTtl(period, yield* trustedClock.now)
    for (const [meter, { max, used }] of Object.entries(usage)) {
      for (const threshold of getReachedThresholds(quotaThresholds.thresholds, used, max)) {
        // `told:` means reported. The name is stored, so it cannot change.
        const marker = `told:${meters.get(meter)?.counter}:${threshold}`
        if (reported.has(marker)) continue
        const event: QuotaEvent = {
          meteringBucketId: bucketId,
          subscriptionId,
          customerKey,
          meter,
          threshold,
          used,
          max,
          periodStart: DateTime.formatIso(period.start),
          resetsOn: DateTime.formatIso(period.end)
        }
        const changes = [
          meteringBucketRecords.assertUnchanged(bucketEntry),
          Change.Add({ counter: marker, by: 1, max: 1, ttl }),
          yield* asSystem(
            recordEvent("quota.threshold_reached", {
              accountName: bucketEntry.value.accountName,
              subject: { type: "subscription", id: subscriptionId },
              data: { ...event }
            })
          )
        ]
        const result = yield* Effect.result(store.commit(Partition.forMeteringBucket(bucketId), changes))
        if (Result.isFailure(result) && result.failure._tag === "StoreUnavailable") {
          yield* Effect.logError(result.failure.message)
          continue
        }
        // Also after a conflict: another process has recorded the event, or the bucket was removed.
        reported.set(marker, true)
      }
    }
  })
}
