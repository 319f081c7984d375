/**
 * Records an event for each threshold that usage has reached, once in each period for each maximum. What is reserved and
 * not settled is not used yet. A counter with a maximum of 1 marks a threshold as reported: the commit that increments it
 * also records the event. If the store is unavailable, the next request tries again, also one that is refused. A failure
 * never affects the counted usage.
 */

import { BoundedMap, Change, Partition, type StoreOperations, type TrustedClock } from "@tollgate/store/internal"
import { DateTime, Effect, Result } from "effect"
import { asSystem } from "../../outbox/CurrentActor.ts"
import { recordEvent } from "../../outbox/recordEvent.ts"
import { type Entitlement, getCounterTtl, type PeriodLimits } from "../model/Entitlement.ts"
import { meteringBucketRecords } from "../model/meteringBucketRecords.ts"
import { toHeldCounter } from "../model/usageCounters.ts"
import { getReachedThresholds, type MeterUsage, type QuotaEvent, type QuotaThresholdsShape } from "./QuotaThresholds.ts"

/** How many reported thresholds a process remembers, so that it does not ask the store again. */
const maxReported = 10_000
/** How many counters a process remembers whose reservations, once they are settled, may reach a threshold. */
const maxAwaited = 10_000

/** What counting usage needs. */
export interface CountServices {
  readonly store: StoreOperations
  readonly quotaThresholds: QuotaThresholdsShape
  readonly trustedClock: TrustedClock["Service"]
}

export const makeReportThresholds = ({ store, quotaThresholds, trustedClock }: CountServices) => {
  const reported = new BoundedMap<string, true>(maxReported)
  const awaited = new BoundedMap<string, true>(maxAwaited)

  const reportThresholds = Effect.fnUntraced(function* (
    bucketId: string,
    entitlement: Entitlement,
    { period, meters }: PeriodLimits,
    usage: MeterUsage
  ) {
    const { bucketEntry, subscription } = entitlement
    const { id: subscriptionId, customerKey } = subscription.value
    const partition = Partition.forMeteringBucket(bucketId)
    const now = yield* trustedClock.now
    for (const [meter, { max, used: counted }] of Object.entries(usage)) {
      const { counter = "", otherPeriod } = meters.get(meter) ?? {}
      const { start, end } = otherPeriod ?? period
      const ttl = getCounterTtl({ end }, now)
      // `told:` means reported. The name is stored, so it cannot change.
      const toMarker = (threshold: number) => `told:${counter}:${threshold}:${max}`
      const getUnreported = (used: number) =>
        getReachedThresholds(quotaThresholds.thresholds, used, max).filter(
          (threshold) => !reported.has(toMarker(threshold))
        )
      const candidates = getUnreported(counted)
      if (candidates.length === 0) continue
      const held = yield* Effect.result(store.counters(partition, [toHeldCounter(counter) ?? ""]))
      if (Result.isFailure(held)) {
        yield* Effect.logError(held.failure.message)
        continue
      }
      const used = counted - (held.success[0] ?? 0)
      const reached = getUnreported(used)
      if (reached.length < candidates.length) awaited.set(counter, true)
      else awaited.delete(counter)
      for (const threshold of reached) {
        const marker = toMarker(threshold)
        const event: QuotaEvent = {
          meteringBucketId: bucketId,
          subscriptionId,
          customerKey,
          meter,
          threshold,
          used,
          max,
          periodStart: DateTime.formatIso(start),
          ...(end && { resetsOn: DateTime.formatIso(end) })
        }
        const changes = [
          meteringBucketRecords.assertUnchanged(bucketEntry),
          Change.Add({ counter: marker, by: 1, max: 1, ttl }),
          yield* asSystem(
            recordEvent("quota.threshold_reached", {
              accountName: bucketEntry.value.accountName,
              subject: { type: "subscription", id: subscriptionId, name: customerKey },
              data: { ...event }
            })
          )
        ]
        const result = yield* Effect.result(store.commit(partition, changes))
        if (Result.isFailure(result) && result.failure._tag === "StoreUnavailable") {
          yield* Effect.logError(result.failure.message)
          continue
        }
        // Also after a conflict: another process has recorded the event, or the bucket was removed.
        reported.set(marker, true)
      }
    }
  })

  return {
    reportThresholds,
    /** Whether a threshold is reached when what is reserved on a counter is used. Known from the counts of this process. */
    isAwaited: (counter: string): boolean => awaited.has(counter)
  }
}
