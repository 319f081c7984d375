/**
 * Counts usage against an entitlement, in one commit: consumes it, records it after the fact, or reserves it. This is the
 * hot path.
 */

import {
  Change,
  type CommitResult,
  type Entry,
  type HotPath,
  matchEffectEager,
  StoreConflict,
  type StoreError
} from "@tollgate/store/internal"
import { DateTime, Effect } from "effect"
import type { RateLimited } from "../../rateLimits/RateLimitError.ts"
import { type RateLimitTake, toRateLimited, toStatuses } from "../../rateLimits/RateLimitTake.ts"
import { makeNoteAlerts } from "../alerts/noteAlerts.ts"
import { isCreditDue } from "../credits/creditDue.ts"
import { makeNoteDepleted } from "../credits/noteDepleted.ts"
import { maxUses } from "../groups/UseNotes.ts"
import type { UseRecorder } from "../groups/UseRecorder.ts"
import { makeCommitInHour } from "../ledger/commitInHour.ts"
import { commitWithTotals } from "../ledger/dayTotals.ts"
import type { PreparedHour } from "../ledger/openHours.ts"
import { creditRecords } from "../model/Credit.ts"
import * as Entitlement from "../model/Entitlement.ts"
import type { Features } from "../model/Features.ts"
import { makeQuota, type Quota } from "../model/Quota.ts"
import { type QuotaExceeded, SubscriptionNotActive, UnknownMeter } from "../model/QuotaError.ts"
import { ReservationLimit } from "../model/ReservationError.ts"
import {
  bySubscription,
  getUsageId,
  maxOpenReservations,
  reservationRecords,
  type StoredReservation
} from "../model/reservationRecords.ts"
import { getPeriodId } from "../model/reservedPeriods.ts"
import type { UsedSubscription } from "../model/UsedSubscription.ts"
import { dayTtlMs, getHeldCounter, usageTtlMs } from "../model/usageCounters.ts"
import type { ConsumeResult } from "./ConsumeResult.ts"
import { type CountReceipt, collectCredit, collectPeriods, toReservedPeriods } from "./CountReceipt.ts"
import type { CountRequest } from "./CountRequest.ts"
import { type MeterUsage, mayHaveReached } from "./QuotaThresholds.ts"
import { failWithQuotaExceeded, makeQuotaRefusals } from "./quotaRefusals.ts"
import { type CountServices, makeReportThresholds } from "./reportThresholds.ts"

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
  receipt: CountReceipt,
  counted: Counted
) => Effect.Effect<CommitResult, StoreError | E>

/** The subscription that a count is about, and the limits that it takes from. */
export interface Counted {
  readonly subscription: UsedSubscription
  readonly takes: ReadonlyArray<RateLimitTake>
  readonly features?: Features | undefined
}

interface RefusedCount {
  readonly bucketId: string
  readonly entitlement: Entitlement.Entitlement
  readonly limits: Entitlement.PeriodLimits
  readonly takes: ReadonlyArray<RateLimitTake>
  readonly kind: CountRequest["kind"]
  readonly now: DateTime.Utc
}

export const makeCountUsage = ({
  store,
  quotaThresholds,
  trustedClock,
  useRecorder
}: CountServices & { readonly useRecorder: UseRecorder["Service"] }) => {
  const thresholds = makeReportThresholds({ store, quotaThresholds, trustedClock })
  const { reportThresholds } = thresholds
  const alerts = makeNoteAlerts(store, trustedClock)
  const commitInHour = makeCommitInHour(store)
  const { giveBackBeforeRefusal, readCounted } = makeQuotaRefusals(store)
  const noteDepleted = makeNoteDepleted(store)

  const noteAlerts = (entitlement: Entitlement.Entitlement, limits: Entitlement.PeriodLimits, usage: MeterUsage) =>
    entitlement.alerts && alerts.note(entitlement.alerts, limits, usage)

  /** Fails with the reason of a conflict. If reservations that have expired can be given back first, counts again. */
  const refuse = <E>(
    conflict: StoreConflict,
    { bucketId, entitlement, limits, takes, kind, now }: RefusedCount,
    countAgain: (() => Effect.Effect<ConsumeResult, CountError | E>) | undefined
  ): Effect.Effect<ConsumeResult, CountError | E> => {
    const { reason, subject } = conflict
    if (reason === "rate-limited") return Effect.fail(toRateLimited(takes, conflict) ?? conflict)
    if (reason !== "counter-exceeded" && reason !== "too-many-records") return Effect.fail(conflict)
    return Effect.flatMap(
      readCounted(entitlement.partition, conflict),
      (counted): Effect.Effect<ConsumeResult, CountError | E> => {
        const refusal =
          reason === "too-many-records"
            ? Effect.fail(new ReservationLimit({ max: maxOpenReservations }))
            : failWithQuotaExceeded({ limits, subject, kind, counted, now }, (usage) =>
                // The process that used up the quota may have died before it reported it.
                Effect.all([
                  noteDepleted(entitlement, limits, usage) ?? Effect.void,
                  reportThresholds(bucketId, entitlement, limits, usage),
                  noteAlerts(entitlement, limits, usage) ?? Effect.void
                ])
              )
        if (countAgain === undefined || counted.held === 0) return refusal
        return Effect.flatMap(giveBackBeforeRefusal(bucketId, limits.usageId, now), (isGivenBack) =>
          isGivenBack ? countAgain() : refusal
        )
      }
    )
  }

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
    const { amounts, kind, features, usedBy } = request
    if (entitlement.credit !== undefined && isCreditDue(entitlement.credit, now)) {
      // As after a change that another process has made: reads again, and settles.
      return Effect.fail(new StoreConflict({ reason: "stale", subject: creditRecords.recordKey("") }))
    }
    const limits = Entitlement.limitsAt(entitlement, now)
    const { period, meters, subscription, usageId, rateLimitTakes: takesOfPlans } = limits
    // Usage that is recorded after the fact may be older than the status.
    if (kind !== "record" && !limits.canConsume)
      return Effect.fail(new SubscriptionNotActive({ subscriptionStatus: subscription.status }))
    const { id: subscriptionId } = subscription
    const nowMs = DateTime.toEpochMillis(now)
    const { partition } = entitlement
    const takes = kind === "record" ? [] : [...request.rateLimitTakes, ...takesOfPlans]
    const maxima: Record<string, number> = {}
    let hasOtherPeriods = false
    let hasCredit = false
    const counts: Array<Change> = []
    for (const meter in amounts) {
      const meterLimit = meters.get(meter)
      if (meterLimit === undefined) return Effect.fail(new UnknownMeter({ meter }))
      const { max, limit, counter, otherPeriod, credit } = meterLimit
      hasOtherPeriods ||= otherPeriod !== undefined
      hasCredit ||= credit !== undefined
      const by = amounts[meter] ?? 0
      maxima[meter] = max
      counts.push(
        kind === "record" || limit === undefined
          ? { _tag: "Add", counter, by, ttl: usageTtlMs }
          : { _tag: "Add", counter, by, max: limit, ttl: usageTtlMs }
      )
    }
    const expiresOn = typeof kind === "string" ? undefined : nowMs + kind.expiresInMs
    const newReservation =
      typeof kind === "string" || expiresOn === undefined
        ? undefined
        : { id: kind.id, expiresOn: DateTime.makeUnsafe(expiresOn) }
    const receipt: CountReceipt = {
      usageId,
      periodStart: period.start,
      resetsOn: period.end,
      maxima,
      ...(hasOtherPeriods ? collectPeriods(limits, amounts) : {}),
      ...(hasCredit ? collectCredit(limits, amounts) : {}),
      ...(newReservation === undefined ? {} : { reservation: newReservation })
    }

    let reservation: StoredReservation | undefined
    let hour = 0
    const commit = ({ openHour, changes: openingChanges }: PreparedHour) => {
      hour = openHour.hour
      reservation = newReservation && {
        ...newReservation,
        subscriptionId,
        customerKey: entitlement.subscription.value.customerKey,
        ...(usageId === subscriptionId ? {} : { usageId }),
        meters: amounts,
        periodStart: DateTime.toEpochMillis(period.start),
        ...toReservedPeriods(receipt),
        ...(hasCredit ? collectSegments(limits, amounts) : {}),
        ...(usedBy && { usedBy }),
        hour
      }
      // What the decision relies on is checked first, then the rate limits, then the quotas.
      const changes: Array<Change> = [...entitlement.preconditions, ...openingChanges]
      for (const { change } of takes) changes.push(change)
      if (request.change !== undefined) changes.push(request.change)
      changes.push(...counts)
      if (reservation === undefined) {
        // The day of the open hour, so that the totals agree with the ledger. It is open for all of these meters.
        for (const meter in amounts) {
          const counter = openHour.meters.get(meter)?.dayCounter ?? ""
          changes.push({ _tag: "Add", counter, by: amounts[meter] ?? 0, ttl: dayTtlMs })
        }
      } else changes.push(...makeReservationChanges(reservation))
      return commitWithTotals(
        changes,
        (changes): Effect.Effect<CommitResult, StoreError | E> =>
          commitOnce === undefined
            ? hotPath.store.commit(partition, changes)
            : commitOnce(changes, receipt, { subscription, takes, features })
      )
    }
    const counting = commitInHour({ bucketId, entitlement, limits, amounts, now: nowMs, expiresOn }, commit)
    return matchEffectEager(
      counting,
      (error): Effect.Effect<ConsumeResult, CountError | E> => {
        if (!(error instanceof StoreConflict)) return Effect.fail(error)
        const countAgain = () => count(bucketId, entitlement, request, hotPath, commitOnce, false)
        return refuse(error, { bucketId, entitlement, limits, takes, kind, now }, mayGiveBack ? countAgain : undefined)
      },
      (commitResult): Effect.Effect<ConsumeResult, CountError> => {
        if (usedBy !== undefined && reservation === undefined) {
          // Without a function, which would lengthen the way of a decision.
          const notes = useRecorder.pending.get(partition) ?? useRecorder.open(partition)
          const count = notes?.uses.push({ usageId, day: Math.floor(hour / 24), amounts, usedBy }) ?? 0
          if (count >= maxUses) notes?.fold()
        }
        const counted: Record<string, Quota> = {}
        for (const meter in amounts) {
          const { max = 0, counter = "", otherPeriod, credit } = meters.get(meter) ?? {}
          counted[meter] = makeQuota(max, commitResult.totals.get(counter), otherPeriod, credit)
        }
        const result = {
          subscription,
          features,
          quotas: { meters: counted, periodStart: period.start, resetsOn: period.end },
          receipt,
          reservation: reservation && toEntry(reservation, commitResult),
          rateLimits: toStatuses(takes, commitResult)
        }
        const noted = hasCredit ? noteDepleted(entitlement, limits, counted) : undefined
        const reported = mayHaveReached(quotaThresholds.thresholds, counted)
          ? Effect.as(reportThresholds(bucketId, entitlement, limits, counted), result)
          : Effect.succeed(result)
        const told = noted === undefined ? reported : Effect.andThen(noted, reported)
        const looked = entitlement.alerts && alerts.note(entitlement.alerts, limits, counted)
        return looked === undefined ? told : Effect.andThen(looked, told)
      }
    )
  }

  /** Reports what is reached now that a reservation is settled, or usage was adjusted. */
  const reportSettled = (
    bucketId: string,
    entitlement: Entitlement.Entitlement,
    limits: Entitlement.PeriodLimits,
    usage: MeterUsage
  ) =>
    Effect.andThen(
      noteAlerts(entitlement, limits, usage) ?? Effect.void,
      mayHaveReached(quotaThresholds.thresholds, usage)
        ? reportThresholds(bucketId, entitlement, limits, usage)
        : Effect.void
    )

  return {
    count,
    reportSettled,
    /** Looks at alerts that were read now, before anything is counted: more may remain than before. */
    lookAtAlerts: (read: Entitlement.CustomerAlerts | undefined) =>
      read === undefined ? Effect.void : alerts.look(read),
    /** Whether something is reached when what is reserved on a counter is used. Known from the counts of this process. */
    isAwaited: (counter: string): boolean => thresholds.isAwaited(counter) || alerts.isAwaited(counter)
  }
}

const makeReservationChanges = (reservation: StoredReservation): ReadonlyArray<Change> => [
  ...Object.entries(reservation.meters).map(([meter, by]) => {
    const counter = getHeldCounter(getUsageId(reservation), meter, getPeriodId(reservation, meter))
    return Change.Add({ counter, by, ttl: usageTtlMs })
  }),
  reservationRecords.insert(reservation),
  reservationRecords.assertAtMost(bySubscription(getUsageId(reservation)), maxOpenReservations - 1)
]

/** The segments of credit in which a reservation is made. */
const collectSegments = (
  { meters }: Entitlement.PeriodLimits,
  amounts: Readonly<Record<string, unknown>>
): Pick<StoredReservation, "segments"> => {
  const segments: Record<string, number> = {}
  for (const meter in amounts) {
    const segment = meters.get(meter)?.credit?.segment
    if (segment !== undefined) segments[meter] = segment
  }
  return { segments }
}

const toEntry = (reservation: StoredReservation, commitResult: CommitResult): Entry<StoredReservation> => ({
  value: reservation,
  version: reservationRecords.getVersion(commitResult, reservation.id)
})
