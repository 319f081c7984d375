/**
 * Gives back what expired reservations hold: each exactly once, because the commit removes the reservation.
 */

import { type Entry, Partition, retryOnConflict, Store } from "@tollgate/store/internal"
import { DateTime, Effect } from "effect"
import { returnReserved } from "../credits/returnCredit.ts"
import {
  readOpenReservations,
  rememberEnding,
  reservationRecords,
  type StoredReservation
} from "../model/reservationRecords.ts"
import { changeCounters } from "./endReservation.ts"
import { noAmounts } from "./UsageLedger.ts"

/** Maximum reservations in one commit. */
const batchSize = 50

export const hasExpired = ({ expiresOn }: StoredReservation, now: DateTime.Utc): boolean =>
  DateTime.isLessThanOrEqualTo(expiresOn, now)

/** Gives back the expired ones of these reservations. Returns their number. */
export const giveBack = Effect.fnUntraced(function* (
  bucketId: string,
  entries: ReadonlyArray<Entry<StoredReservation>>,
  now: DateTime.Utc
) {
  const store = yield* Store
  const nowMs = DateTime.toEpochMillis(now)
  const expired = entries.filter(({ value }) => hasExpired(value, now))
  for (let start = 0; start < expired.length; start += batchSize) {
    const batch = expired.slice(start, start + batchSize)
    const unused = batch.map(({ value }) => ({ reservation: value, used: noAmounts }))
    const partition = Partition.forMeteringBucket(bucketId)
    yield* store.commit(partition, [
      ...batch.map(reservationRecords.remove),
      ...changeCounters(unused),
      ...(yield* returnReserved(partition, unused)),
      ...batch.flatMap(({ value }) =>
        rememberEnding(value, "expired", { endedAt: DateTime.toEpochMillis(value.expiresOn), now: nowMs })
      )
    ])
  }
  return expired.length
})

/**
 * Gives back the reservations of a subscription that have expired, or only those that have expired since a time. Returns
 * their number, and the reservations that are open.
 */
export const giveBackExpired = (bucketId: string, subscriptionId: string, now: DateTime.Utc, since?: DateTime.Utc) =>
  retryOnConflict(
    Effect.gen(function* () {
      const entries = yield* readOpenReservations(Partition.forMeteringBucket(bucketId), subscriptionId)
      const isBefore = ({ value }: Entry<StoredReservation>) => since !== undefined && hasExpired(value, since)
      const givenBack = yield* giveBack(
        bucketId,
        entries.filter((entry) => !isBefore(entry)),
        now
      )
      return { givenBack, open: entries.filter(({ value }) => !hasExpired(value, now)) }
    })
  )
