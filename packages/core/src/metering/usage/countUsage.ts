/**
 * Counts usage against an entitlement, in one commit: consumes it, records it after the fact, or reserves it. This is the
 * hot path.
 */
import { DateTime, Effect } from "effect"
import type { RateLimited } from "../../rateLimits/RateLimitError.ts"
import { type RateLimitTake, toRateLimited, toStatuses } from "../../rateLimits/RateLimitTake.ts"
import { matchEffectEager } from "../../runtime/matchEffectEager.ts"
import type { TrustedClock } from "../../runtime/TrustedClock.ts"
import type { Entry } from "../../store/Collection.ts"
import type { HotPath } from "../../store/HotPath.ts"
import * as Partition from "../../store/Partition.ts"
import { Change, type CommitResult, type StoreOperations } from "../../store/Store.ts"
import { StoreConflict, type StoreError } from "../../store/StoreError.ts"
import { makeCommitInHour } from "../ledger/commitInHour.ts"
import { addToDay, commitWithTotals } from "../ledger/dayTotals.ts"
import type { PreparedHour } from "../ledger/openHours.ts"
import { maxOpenReservations, reservationRecords, type StoredReservation } from "../ledger/reservationRecords.ts"
import { bySubscription } from "../ledger/usageRecords.ts"
import { getDayOfHour } from "../model/clockSteps.ts"
import * as Entitlement from "../model/Entitlement.ts"
import { type Amounts, makeQuota, type Quota, type Quotas } from "../model/Quota.ts"
import { type QuotaExceeded, SubscriptionNotActive, UnknownMeter } from "../model/QuotaError.ts"
import { ReservationLimit } from "../model/ReservationError.ts"
import { canConsume } from "../model/Subscription.ts"
import { getHeldCounter, usageTtlMs } from "../model/usageCounters.ts"
import type { ConsumeResult } from "./ConsumeResult.ts"
import type { CountReceipt } from "./CountReceipt.ts"
import type { CountRequest } from "./CountRequest.ts"
import { type MeterUsage, mayHaveReached, type QuotaThresholdsShape } from "./QuotaThresholds.ts"
import { failWithQuotaExceeded, makeQuotaRefusals } from "./quotaRefusals.ts"
import { makeReportThresholds } from "./reportThresholds.ts"

export type CountError =
  | StoreError
  | SubscriptionNotActive
  | UnknownMeter
  | RateLimited
  | QuotaExceeded
  | ReservationLimit

/** Commits changes in the metering bucket, once for each idempotency key. Its further errors end the operation. */
export type CommitCount<E> = (
  changes: ReadonlyArray<Change>,
  receipt: CountReceipt
) => Effect.Effect<CommitResult, StoreError | E>

interface Services {
  readonly store: StoreOperations
  readonly quotaThresholds: QuotaThresholdsShape
  readonly trustedClock: TrustedClock["Service"]
}

export const makeCountUsage = ({ store, quotaThresholds, trustedClock }: Services) => {
  const { reportThresholds, isAwaited } = makeReportThresholds({ store, quotaThresholds, trustedClock })
  const commitInHour = makeCommitInHour(store)
  const { giveBackBeforeRefusal, readCounted } = makeQuotaRefusals(store)

  /**
   * Counts usage. Fails with `QuotaExceeded` if a counter would exceed its limit, and with a stale `StoreConflict` if the
   * entitlement is outdated.
   */
  const count = <E = never>(
    bucketId: string,
    entitlement: Entitlement.Entitlement,
    request: CountRequest,
    hotPath: HotPath,
    commitOnce?: CommitCount<E>,
    mayGiveBack = true
  ): Effect.Effect<ConsumeResult, CountError | E> => {
    const now = trustedClock.read(hotPath.clock)
    const { amounts, kind } = request
    const limits = Entitlement.limitsAt(entitlement, now)
    const { period, meters, subscription } = limits
    // Usage that is recorded after the fact may be older than the status.
    if (kind !== "record" && !canConsume(subscription.status))
      return Effect.fail(new SubscriptionNotActive({ subscriptionStatus: subscription.status }))
    const { id: subscriptionId } = subscription
    const nowMs = DateTime.toEpochMillis(now)
    const partition = Partition.forMeteringBucket(bucketId)
    const takes = getTakes(entitlement, request)
    const maxima: Record<string, number> = {}
    const counts: Array<Change> = []
    for (const meter in amounts) {
      const meterLimit = meters.get(meter)
      if (meterLimit === undefined) return Effect.fail(new UnknownMeter({ meter }))
      const { max, counter } = meterLimit
      const by = amounts[meter] ?? 0
      maxima[meter] = max
      counts.push(
        kind === "record"
          ? { _tag: "Add", counter, by, ttl: usageTtlMs }
          : { _tag: "Add", counter, by, max, ttl: usageTtlMs }
      )
    }
    const expiresOn = typeof kind === "string" ? undefined : nowMs + kind.expiresInMs
    const newReservation =
      typeof kind === "string" || expiresOn === undefined
        ? undefined
        : { id: kind.id, expiresOn: DateTime.makeUnsafe(expiresOn) }
    const receipt: CountReceipt = {
      subscriptionId,
      periodStart: period.start,
      resetsOn: period.end,
      maxima,
      ...(newReservation === undefined ? {} : { reservation: newReservation })
    }

    const commit = ({ openHour, changes: openingChanges }: PreparedHour) => {
      const reservation = newReservation && {
        ...newReservation,
        subscriptionId,
        meters: amounts,
        periodStart: DateTime.toEpochMillis(period.start),
        hour: openHour.hour
      }
      // What the decision relies on is checked first, then the rate limits, then the quotas.
      const changes: Array<Change> = [...entitlement.preconditions, ...openingChanges]
      for (const { change } of takes) changes.push(change)
      if (request.change !== undefined) changes.push(request.change)
      changes.push(...counts)
      if (reservation === undefined) {
        // The day of the open hour, so that the totals agree with the ledger.
        const day = getDayOfHour(openHour.hour)
        for (const meter in amounts) changes.push(addToDay(meter, amounts[meter] ?? 0, day))
      } else changes.push(...makeReservationChanges(reservation))
      const committing = commitWithTotals(
        changes,
        (changes): Effect.Effect<CommitResult, StoreError | E> =>
          commitOnce === undefined ? hotPath.store.commit(partition, changes) : commitOnce(changes, receipt)
      )
      return Effect.mapEager(committing, (commitResult) => ({
        commitResult,
        reservation: reservation && toEntry(reservation, commitResult)
      }))
    }
    const counting = commitInHour({ bucketId, entitlement, limits, amounts, now: nowMs, expiresOn }, commit)
    return matchEffectEager(
      counting,
      (error): Effect.Effect<ConsumeResult, CountError | E> => {
        if (!(error instanceof StoreConflict)) return Effect.fail(error)
        const { reason, subject } = error
        if (reason === "rate-limited") return Effect.fail(toRateLimited(takes, error) ?? error)
        if (reason !== "counter-exceeded" && reason !== "too-many-records") return Effect.fail(error)
        return Effect.flatMap(
          readCounted(partition, error),
          (counted): Effect.Effect<ConsumeResult, CountError | E> => {
            const refusal =
              reason === "too-many-records"
                ? Effect.fail(new ReservationLimit({ max: maxOpenReservations }))
                : failWithQuotaExceeded({ limits, subject, kind, counted, now }, (usage) =>
                    // The process that used up the quota may have died before it reported it.
                    reportThresholds(bucketId, entitlement, limits, usage)
                  )
            if (!mayGiveBack || counted.held === 0) return refusal
            return Effect.flatMap(giveBackBeforeRefusal(bucketId, subscriptionId, now), (isGivenBack) =>
              isGivenBack ? count(bucketId, entitlement, request, hotPath, commitOnce, false) : refusal
            )
          }
        )
      },
      ({ commitResult, reservation }): Effect.Effect<ConsumeResult, CountError> => {
        const quotas = getQuotas(amounts, limits, commitResult)
        const result = { subscription, quotas, receipt, reservation, rateLimits: toStatuses(takes, commitResult) }
        return mayHaveReached(quotaThresholds.thresholds, quotas.meters)
          ? Effect.as(reportThresholds(bucketId, entitlement, limits, quotas.meters), result)
          : Effect.succeed(result)
      }
    )
  }

  /** Reports the thresholds that are reached now that a reservation is settled. */
  const reportSettled = (
    bucketId: string,
    entitlement: Entitlement.Entitlement,
    limits: Entitlement.PeriodLimits,
    usage: MeterUsage
  ) =>
    mayHaveReached(quotaThresholds.thresholds, usage)
      ? reportThresholds(bucketId, entitlement, limits, usage)
      : Effect.void

  return { count, reportSettled, isAwaited }
}

/** The quotas of the counted meters. */
const getQuotas = (
  amounts: Amounts,
  { period, meters: limits }: Entitlement.PeriodLimits,
  { totals }: CommitResult
): Quotas => {
  const meters: Record<string, Quota> = {}
  for (const meter in amounts) {
    const { max = 0, counter = "" } = limits.get(meter) ?? {}
    meters[meter] = makeQuota(max, totals.get(counter))
  }
  return { meters, periodStart: period.start, resetsOn: period.end }
}

const noTakes: ReadonlyArray<RateLimitTake> = []

const getTakes = (
  { rateLimitTakes: takesOfPlans }: Entitlement.Entitlement,
  { rateLimitTakes, kind }: CountRequest
): ReadonlyArray<RateLimitTake> => {
  if (kind === "record") return noTakes
  return rateLimitTakes.length === 0 ? takesOfPlans : [...rateLimitTakes, ...takesOfPlans]
}

const makeReservationChanges = (reservation: StoredReservation): ReadonlyArray<Change> => [
  ...Object.entries(reservation.meters).map(([meter, by]) => {
    const counter = getHeldCounter(reservation.subscriptionId, meter, reservation.periodStart)
    return Change.Add({ counter, by, ttl: usageTtlMs })
  }),
  reservationRecords.insert(reservation),
  reservationRecords.assertAtMost(bySubscription(reservation.subscriptionId), maxOpenReservations - 1)
]

const toEntry = (reservation: StoredReservation, commitResult: CommitResult): Entry<StoredReservation> => ({
  value: reservation,
  version: reservationRecords.getVersion(commitResult, reservation.id)
})
