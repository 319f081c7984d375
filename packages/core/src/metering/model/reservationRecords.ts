/**
 * The open reservations, in the partition of a metering bucket. A reservation that has ended is removed; for a day a counter
 * remembers how it ended.
 */

import { Change, Collection, type Partition, Store, Timestamp } from "@tollgate/store/internal"
import { Effect, Schema } from "effect"
import { dayMs } from "./clockSteps.ts"
import { UsedBy } from "./Labels.ts"
import { ReservationId } from "./Reservation.ts"
import { reservedPeriods } from "./reservedPeriods.ts"

export const bySubscription = (subscriptionId: string): string => `subscription:${subscriptionId}`

export const StoredReservation = Schema.Struct({
  id: ReservationId,
  subscriptionId: Schema.String,
  customerKey: Schema.String,
  /** The id under which it is counted, if that is another one. */
  usageId: Schema.optionalKey(Schema.String),
  meters: Schema.Record(Schema.String, Schema.Finite),
  expiresOn: Timestamp,
  ...reservedPeriods,
  /** The segments of credit in which it was made, by meter. */
  segments: Schema.optionalKey(Schema.Record(Schema.String, Schema.Int)),
  /** Whose key reserves, and what for, if the reservation is settled by its id. */
  usedBy: Schema.optionalKey(UsedBy),
  /** The hour that it counts in, since the epoch. */
  hour: Schema.Int
})
export type StoredReservation = typeof StoredReservation.Type

/** The id under which a reservation is counted. */
export const getUsageId = ({
  usageId,
  subscriptionId
}: Pick<StoredReservation, "usageId" | "subscriptionId">): string => usageId ?? subscriptionId

export const maxOpenReservations = 1_000

export const reservationRecords = Collection.make({
  name: "reservation",
  countsBytes: false,
  format: 1,
  schema: StoredReservation,
  key: ({ id }) => id,
  indexTerms: (reservation) => [bySubscription(getUsageId(reservation))]
})

/** The open reservations that are counted under an id, oldest first. */
export const readOpenReservations = (partition: Partition.Partition, usageId: string) =>
  Effect.map(
    reservationRecords.page(partition, {
      where: [bySubscription(usageId)],
      offset: 0,
      limit: maxOpenReservations
    }),
    ({ entries }) => entries
  )

/** How a reservation has ended, as the value of its counter. 0: it is open, or never existed, or ended a day ago. */
export const endings = { settled: 1, expired: 2, countedLate: 3 } as const
export type Ending = keyof typeof endings

/** The subscription is part of the name, so that one cannot ask for the reservations of another. */
export const getEndingCounter = ({
  id,
  subscriptionId
}: {
  readonly id: string
  readonly subscriptionId: string
}): string => `reservation:${subscriptionId}:${id}`

/** How a reservation has ended, as one of `endings`, or 0. */
export const readEnding = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  reservation: Parameters<typeof getEndingCounter>[0]
) {
  const store = yield* Store
  const [ending = 0] = yield* store.counters(partition, [getEndingCounter(reservation)])
  return ending
})

/** How a reservation has ended, if it was made for one of these subscriptions. */
export const readEndings = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  reservationId: string,
  subscriptionIds: ReadonlyArray<string>
) {
  const store = yield* Store
  return yield* store.counters(
    partition,
    subscriptionIds.map((subscriptionId) => getEndingCounter({ id: reservationId, subscriptionId }))
  )
})

/** A change that remembers for a day how a reservation has ended. Times are in epoch milliseconds. */
export const rememberEnding = (
  reservation: StoredReservation,
  ending: Ending,
  { endedAt, now }: { readonly endedAt: number; readonly now: number }
): ReadonlyArray<Change> => {
  const ttl = endedAt + dayMs - now
  const [counter, by] = [getEndingCounter(reservation), endings[ending]]
  return ttl <= 0 ? [] : [Change.Add({ counter, by, max: by, ttl })]
}
