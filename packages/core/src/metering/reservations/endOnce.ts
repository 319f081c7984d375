/**
 * Ends an open reservation at what was used, once for each idempotency key.
 */

import {
  type CommitOnce,
  type CommitResult,
  InvalidInput,
  makeResultCodec,
  Partition,
  retryOnConflict,
  type StoreOperations,
  type TrustedClock
} from "@tollgate/store/internal"
import { DateTime, Effect, Option, Schema } from "effect"
import { listReserved, previewReturns } from "../credits/returnCredit.ts"
import { readSettledEntitlement } from "../credits/settleCredit.ts"
import type { UseRecorder } from "../groups/UseRecorder.ts"
import { commitWithTotals } from "../ledger/dayTotals.ts"
import { endReservation } from "../ledger/endReservation.ts"
import { giveBack, hasExpired } from "../ledger/giveBackExpired.ts"
import type { MeterAmounts } from "../ledger/UsageLedger.ts"
import * as Entitlement from "../model/Entitlement.ts"
import type { Labels } from "../model/Labels.ts"
import type { Quotas } from "../model/Quota.ts"
import { ReservationExpired, ReservationNotFound, ReservationSettled } from "../model/ReservationError.ts"
import {
  endings,
  getUsageId,
  readEnding,
  rememberEnding,
  reservationRecords,
  type StoredReservation
} from "../model/reservationRecords.ts"
import { getPeriodId } from "../model/reservedPeriods.ts"
import { getUsedCounter } from "../model/usageCounters.ts"
import { CountReceipt, collectCredit, collectPeriods, toQuota } from "../usage/CountReceipt.ts"
import type { Usage } from "../usage/Usage.ts"
import { noteReserved } from "./noteReserved.ts"

/** Stored for replays of a settled reservation: its period, the limits, and the usage of the meters that it did not change. */
const SettlementReceipt = Schema.Struct({ ...CountReceipt.fields, used: Schema.Record(Schema.String, Schema.Finite) })
type SettlementReceipt = typeof SettlementReceipt.Type

export const settlementCodec = makeResultCodec(SettlementReceipt)

/** The quotas of the reserved meters after a reservation was settled, for the first request and for replays. */
export const toSettledQuotas = (receipt: SettlementReceipt, commitResult: CommitResult): Quotas => {
  const { maxima, used, periodStart, resetsOn } = receipt
  const meters = Object.keys(maxima).map(
    (meter) => [meter, toQuota(meter, receipt, commitResult, used[meter])] as const
  )
  return { meters: Object.fromEntries(meters), periodStart, resetsOn }
}

/** Fails unless every meter was reserved, and at least as much as was used. */
const checkReserved = ({ meters }: StoredReservation, used: MeterAmounts): Effect.Effect<void, InvalidInput> => {
  const errors = [...used].flatMap(([meter, amount]) => {
    const reserved = Object.hasOwn(meters, meter) ? (meters[meter] ?? 0) : 0
    const detail = `must be at most ${reserved}, which was reserved`
    return amount <= reserved ? [] : [{ pointer: `/meters/${meter}`, detail }]
  })
  return errors.length === 0 ? Effect.void : Effect.fail(new InvalidInput({ errors }))
}

export interface ReservationPath {
  readonly bucketId: string
  readonly subscriptionId: string
  readonly reservationId: string
}

interface Services {
  readonly store: StoreOperations
  readonly usage: Usage["Service"]
  readonly trustedClock: TrustedClock["Service"]
  readonly useRecorder: UseRecorder["Service"]
}

/** Makes the function that ends a reservation at what was used. */
export const makeEndReservation = ({ store, usage, trustedClock, useRecorder }: Services) => {
  /** Finds an open reservation. Gives it back if it has expired. */
  const findOpen = Effect.fnUntraced(function* (path: ReservationPath, now: DateTime.Utc) {
    const { bucketId, subscriptionId, reservationId } = path
    const partition = Partition.forMeteringBucket(bucketId)
    const entry = yield* reservationRecords.get(partition, reservationId)
    if (Option.isSome(entry) && entry.value.value.subscriptionId === subscriptionId) {
      if (!hasExpired(entry.value.value, now)) return entry.value
      yield* giveBack(bucketId, [entry.value], now)
    }
    const ending = yield* readEnding(partition, { id: reservationId, subscriptionId })
    if (ending === 0) return yield* new ReservationNotFound({ reservationId })
    return yield* ending === endings.settled
      ? new ReservationSettled({ reservationId })
      : new ReservationExpired({ reservationId })
  })

  /** The usage of the meters whose counters do not change, because all that was reserved was used. */
  const readUnchanged = Effect.fnUntraced(function* (
    partition: Partition.Partition,
    reservation: StoredReservation,
    used: MeterAmounts
  ) {
    const { meters } = reservation
    const usageId = getUsageId(reservation)
    const names = Object.entries(meters).flatMap(([meter, reserved]) => (used.get(meter) === reserved ? [meter] : []))
    const values = yield* store.counters(
      partition,
      names.map((meter) => getUsedCounter(usageId, meter, getPeriodId(reservation, meter)))
    )
    return Object.fromEntries(names.map((meter, index) => [meter, values[index] ?? 0]))
  })

  return Effect.fnUntraced(function* (
    path: ReservationPath,
    used: MeterAmounts,
    commitOnce: CommitOnce<SettlementReceipt>,
    labels?: Labels
  ) {
    const partition = Partition.forMeteringBucket(path.bucketId)
    const attempt = Effect.gen(function* () {
      const now = yield* trustedClock.now
      const entitlement = yield* readSettledEntitlement(path.bucketId, path.subscriptionId, now)
      const entry = yield* findOpen(path, now)
      yield* checkReserved(entry.value, used)
      const limits = Entitlement.limitsIn(entitlement, entry.value)
      const { period, meters } = limits
      const names = Object.keys(entry.value.meters)
      const nowMs = DateTime.toEpochMillis(now)
      const receipt: SettlementReceipt = {
        usageId: getUsageId(entry.value),
        periodStart: period.start,
        resetsOn: period.end,
        ...collectPeriods(limits, entry.value.meters),
        ...(yield* previewReturns(
          entitlement,
          listReserved(entry.value, used),
          now,
          collectCredit(limits, entry.value.meters)
        )),
        maxima: Object.fromEntries(names.map((meter) => [meter, meters.get(meter)?.max ?? 0])),
        used: yield* readUnchanged(partition, entry.value, used)
      }
      const changes = [
        ...(yield* endReservation(partition, entry, used, nowMs)),
        ...rememberEnding(entry.value, "settled", { endedAt: nowMs, now: nowMs })
      ]
      const commitResult = yield* commitWithTotals(changes, (changes) => commitOnce(changes, receipt))
      const { usedBy } = entry.value
      const settledBy = labels === undefined ? usedBy : { ...usedBy, labels }
      noteReserved(useRecorder, path.bucketId, entry.value, Object.fromEntries(used), settledBy)
      const quotas = toSettledQuotas(receipt, commitResult)
      yield* usage.reportSettled(path.bucketId, entitlement, limits, quotas.meters)
      return quotas
    })
    return yield* retryOnConflict(attempt)
  })
}
