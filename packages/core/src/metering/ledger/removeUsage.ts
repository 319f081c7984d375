/**
 * The changes that remove the usage of a subscription with it: its reservations, its history and its counters. The usage
 * of the whole metering bucket stays.
 */

import { Change, type Partition, StoreConflict } from "@tollgate/store/internal"
import { Effect, Option } from "effect"
import { PeriodKind } from "../model/Period.ts"
import { bySubscription, readOpenReservations, reservationRecords } from "../model/reservationRecords.ts"
import { getHeldCounter, getUsedCounter, usageTtlMs } from "../model/usageCounters.ts"
import { ledgerRecords, monthRecords, periodRecords, readClosedPeriods, readMonths } from "./usageRecords.ts"

/** Whether a reservation was made while the changes were computed. */
export const isNewReservation = (error: unknown): boolean =>
  error instanceof StoreConflict &&
  error.reason === "too-many-records" &&
  error.subject.startsWith(reservationRecords.indexTerm(bySubscription("")))

export const removeUsage = Effect.fnUntraced(function* (partition: Partition.Partition, subscriptionId: string) {
  const reservations = yield* readOpenReservations(partition, subscriptionId)
  const ledger = yield* ledgerRecords.get(partition, subscriptionId)
  const periods = yield* Effect.forEach([undefined, ...PeriodKind.literals], (kind) =>
    readClosedPeriods(partition, subscriptionId, kind)
  )
  const months = yield* readMonths(partition, subscriptionId)
  const counters = Option.toArray(ledger).flatMap(({ value }) =>
    value.periods.flatMap(({ start, counted }) =>
      Object.keys(counted).flatMap((meter) => [
        getUsedCounter(subscriptionId, meter, start),
        getHeldCounter(subscriptionId, meter, start)
      ])
    )
  )
  return [
    reservationRecords.assertAtMost(bySubscription(subscriptionId), reservations.length),
    ...reservations.map(reservationRecords.remove),
    ...Option.toArray(ledger).map(ledgerRecords.remove),
    ...periods.flatMap(Option.toArray).map(periodRecords.remove),
    ...months.map(monthRecords.remove),
    // Also what is counted until the commit: a counter stops at 0, and takes no space then.
    ...counters.map((counter) => Change.Add({ counter, by: -Number.MAX_SAFE_INTEGER, ttl: usageTtlMs }))
  ]
})
