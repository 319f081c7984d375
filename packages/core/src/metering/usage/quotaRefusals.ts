/**
 * What happens when a count is refused because a counter would exceed its maximum, or because there are too many
 * reservations: expired reservations are given back, and if there are none, the refusal says what is left.
 */

import {
  omitUndefined,
  type Partition,
  Store,
  type StoreConflict,
  type StoreOperations
} from "@tollgate/store/internal"
import { DateTime, Effect } from "effect"
import { giveBackExpired } from "../ledger/giveBackExpired.ts"
import type { PeriodLimits } from "../model/Entitlement.ts"
import { QuotaExceeded } from "../model/QuotaError.ts"
import { toHeldCounter } from "../model/usageCounters.ts"
import { toQuotaPolicy } from "./ConsumeResult.ts"
import type { CountRequest } from "./CountRequest.ts"
import type { MeterUsage } from "./QuotaThresholds.ts"

/** What a counter stands at, and what of it is held by reservations. Nothing is known of it if it cannot be read. */
interface Counted {
  readonly used?: number | undefined
  readonly held: number
}

export const makeQuotaRefusals = (store: StoreOperations) => ({
  /** Reads the counter of a refusal, because the store does not say by how much it would exceed its maximum. */
  readCounted: (partition: Partition.Partition, { reason, subject }: StoreConflict): Effect.Effect<Counted> => {
    // Whichever reservations there are, one of them may have expired.
    if (reason === "too-many-records") return Effect.succeed({ held: 1 })
    const heldCounter = toHeldCounter(subject)
    if (heldCounter === undefined) return Effect.succeed({ held: 0 })
    return Effect.match(store.counters(partition, [subject, heldCounter]), {
      onFailure: () => ({ held: 0 }),
      onSuccess: ([used = 0, held = 0]) => ({ used, held })
    })
  },

  /** Gives back the expired reservations of a subscription. Returns whether there were any. If it fails, there were none. */
  giveBackBeforeRefusal: (bucketId: string, subscriptionId: string, now: DateTime.Utc): Effect.Effect<boolean> =>
    giveBackExpired(bucketId, subscriptionId, now).pipe(
      Effect.match({ onFailure: () => false, onSuccess: ({ givenBack }) => givenBack > 0 }),
      Effect.provideService(Store, store)
    )
})

interface Refusal {
  readonly limits: PeriodLimits
  /** The counter that would exceed its maximum. */
  readonly subject: string
  readonly kind: CountRequest["kind"]
  readonly counted: Counted
  readonly now: DateTime.Utc
}

/** Fails with what is left of the quota. Reports the usage first, if it is known. */
export const failWithQuotaExceeded = (
  { limits, subject, kind, counted: { used }, now }: Refusal,
  report: (usage: MeterUsage) => Effect.Effect<void>
): Effect.Effect<never, QuotaExceeded> => {
  const [meter = "", limit] = [...limits.meters].find(([, { counter }]) => counter === subject) ?? []
  // A counter without a limit of its own is refused at the largest integer.
  const max =
    kind === "record" || limit === undefined ? Number.MAX_SAFE_INTEGER : (limit.limit ?? Number.MAX_SAFE_INTEGER)
  const remaining = Math.max(0, max - (used ?? max))
  const period = limit?.otherPeriod ?? limits.period
  const policy = toQuotaPolicy(meter, { max, remaining }, period, DateTime.toEpochMillis(now))
  const refusal = Effect.fail(new QuotaExceeded({ meter, max, ...omitUndefined({ resetsOn: period.end }), policy }))
  return used === undefined || limit === undefined || kind === "record"
    ? refusal
    : Effect.andThen(report({ [meter]: { max: limit.max, used } }), refusal)
}
