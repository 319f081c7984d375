/**
 * What happens when a count is refused because a counter would exceed its maximum, or because there are too many
 * reservations: expired reservations are given back, and if there are none, the refusal says what is left.
 */
import { DateTime, Effect } from "effect"
import * as Partition from "../store/Partition.ts"
import { Store, type StoreOperations } from "../store/Store.ts"
import type { StoreConflict } from "../store/StoreError.ts"
import { toQuotaPeriod, toQuotaPolicy } from "./ConsumeResult.ts"
import type { CountRequest } from "./CountRequest.ts"
import type { PeriodLimits } from "./Entitlement.ts"
import { giveBackExpired } from "./giveBackExpired.ts"
import { QuotaExceeded } from "./QuotaError.ts"
import type { MeterUsage } from "./QuotaThresholds.ts"
import { toHeldCounter } from "./usageCounters.ts"

/**
 * Makes a function that gives back what expired reservations of a subscription hold, before a count is refused. It returns
 * whether there were any. If it fails, the count is refused.
 */
export const makeGiveBackBeforeRefusal =
  (store: StoreOperations) =>
  (bucketId: string, subscriptionId: string, { reason, subject }: StoreConflict, now: DateTime.Utc) =>
    Effect.gen(function* () {
      if (reason === "counter-exceeded") {
        const heldCounter = toHeldCounter(subject)
        if (heldCounter === undefined) return false
        const [held = 0] = yield* store.counters(Partition.forMeteringBucket(bucketId), [heldCounter])
        if (held === 0) return false
      }
      return (yield* giveBackExpired(bucketId, subscriptionId, now)) > 0
    }).pipe(
      Effect.catch(() => Effect.succeed(false)),
      Effect.provideService(Store, store)
    )

interface Refusal {
  readonly partition: Partition.Partition
  readonly limits: PeriodLimits
  /** The counter that would exceed its maximum. */
  readonly subject: string
  readonly request: Pick<CountRequest, "amounts" | "kind">
  readonly now: DateTime.Utc
}

/**
 * Makes a function that fails with what is left of the quota. It reads that, because the store does not say by how much a
 * counter exceeds. Reports the usage first, if it is known.
 */
export const makeFailWithQuotaExceeded =
  (store: StoreOperations) =>
  (
    { partition, limits, subject, request: { amounts, kind }, now }: Refusal,
    report: (usage: MeterUsage) => Effect.Effect<void>
  ): Effect.Effect<never, QuotaExceeded> => {
    const [meter = "", limit] = [...limits.meters].find(([, { counter }]) => counter === subject) ?? []
    const max = kind === "record" ? Number.MAX_SAFE_INTEGER : (limit?.max ?? 0)
    const fail = (left: number) => {
      const remaining = Math.max(0, left)
      const period = toQuotaPeriod(limits.period)
      const policy = toQuotaPolicy(meter, { max, remaining }, period, DateTime.toEpochMillis(now))
      return Effect.fail(new QuotaExceeded({ meter, max, resetsOn: limits.period.end, policy }))
    }
    const reportAndFail = (used: number) =>
      kind === "record" ? fail(max - used) : Effect.andThen(report({ [meter]: { max, used } }), fail(max - used))
    if (amounts[meter] === 1) return reportAndFail(max)
    return Effect.matchEffect(store.counters(partition, [subject]), {
      onFailure: () => fail(0),
      onSuccess: ([used = 0]) => reportAndFail(used)
    })
  }
