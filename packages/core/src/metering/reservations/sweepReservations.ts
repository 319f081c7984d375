/**
 * Gives back expired reservations in the background, so that it also happens after a crash.
 */

import { Partition, retryOnConflict } from "@tollgate/store/internal"
import { DateTime, Effect, Stream } from "effect"
import { giveBack, hasExpired } from "../ledger/giveBackExpired.ts"
import { reservationRecords } from "../model/reservationRecords.ts"

/** Reservations that expire at a time. */
export const reservationsJob = { name: "reservations" }

/** Maximum reservations in one read. */
const pageSize = 200

/** Maximum reservations that one run looks at, oldest first. */
const maxRead = 5_000

/** When a run that could not look at all reservations is repeated. */
const nextRun = { seconds: 10 }

/** Gives back the expired reservations of a metering bucket. Returns when the next one expires, if there are more. */
export const sweepReservations = (bucketId: string, now: DateTime.Utc) =>
  retryOnConflict(
    Effect.gen(function* () {
      let read = 0
      let next: DateTime.Utc | undefined
      yield* reservationRecords.stream(Partition.forMeteringBucket(bucketId), { pageSize }).pipe(
        Stream.take(maxRead),
        Stream.grouped(pageSize),
        Stream.runForEach((entries) => {
          read += entries.length
          for (const { value } of entries) {
            if (hasExpired(value, now)) continue
            next = next === undefined ? value.expiresOn : DateTime.min(next, value.expiresOn)
          }
          return giveBack(bucketId, entries, now)
        })
      )
      return read < maxRead ? next : DateTime.add(now, nextRun)
    })
  )
