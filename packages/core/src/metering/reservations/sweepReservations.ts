/**
 * Gives back expired reservations in the background, in all metering buckets that ever had one: any process does it for
 * all, so it also happens after a crash.
 */
import { type DateTime, Effect, Stream } from "effect"
import * as Partition from "../../store/Partition.ts"
import { retryOnConflict } from "../../store/retryOnConflict.ts"
import { forEachMarkedBucket } from "../buckets/markedBuckets.ts"
import { giveBack } from "../ledger/giveBackExpired.ts"
import { reservationRecords } from "../ledger/reservationRecords.ts"
import { reservesTerm } from "../model/meteringDirectoryRecords.ts"

/** Maximum reservations in one read. */
const pageSize = 200

/** Maximum reservations of one bucket that one run looks at, oldest first. The oldest ones have expired. */
const maxPerBucket = 5_000

const sweepBucket = (bucketId: string, now: DateTime.Utc) =>
  reservationRecords.stream(Partition.forMeteringBucket(bucketId), { pageSize }).pipe(
    Stream.take(maxPerBucket),
    Stream.grouped(pageSize),
    Stream.runForEach((entries) => giveBack(bucketId, entries, now))
  )

/** Gives back all expired reservations. If it fails for one bucket, the others continue. */
export const sweepReservations = Effect.fnUntraced(function* (now: DateTime.Utc) {
  yield* forEachMarkedBucket(reservesTerm, "Giving back expired reservations", (bucketId) =>
    retryOnConflict(sweepBucket(bucketId, now))
  )
})
