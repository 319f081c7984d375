/**
 * The open reservations, in the partition of a metering bucket. A reservation that has ended is removed; for a day a counter
 * remembers how it ended.
 */
import { Effect, Schema } from "effect"
import { Timestamp } from "../../schema/Timestamp.ts"
import * as Collection from "../../store/Collection.ts"
import type { Partition } from "../../store/Partition.ts"
import { Change, Store } from "../../store/Store.ts"
import { dayMs } from "../model/clockSteps.ts"
import { ReservationId } from "../model/Reservation.ts"
import { bySubscription } from "./usageRecords.ts"

export const StoredReservation = Schema.Struct({
  id: ReservationId,
  subscriptionId: Schema.String,
  meters: Schema.Record(Schema.String, Schema.Finite),
  expiresOn: Timestamp,
  /** The period and the hour that it counts in: epoch milliseconds, and hours since the epoch. */
  periodStart: Schema.Int,
  hour: Schema.Int
})
export type StoredReservation = typeof StoredReservation.Type

export const maxOpenReservations = 1_000

export const reservationRecords = Collection.make({
  name: "reservation",
  countsBytes: false,
  format: 1,
  schema: StoredReservation,
  key: ({ id }) => id,
  indexTerms: ({ subscriptionId }) => [bySubscription(subscriptionId)]
})

/** The open reservations of a subscription, oldest first. */
export const readOpenReservations = (partition: Partition, subscriptionId: string) =>
  Effect.map(
    reservationRecords.page(partition, {
      where: [bySubscription(subscriptionId)],
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
  partition: Partition,
  reservation: Parameters<typeof getEndingCounter>[0]
) {
  const store = yield* Store
  const [ending = 0] = yield* store.counters(partition, [getEndingCounter(reservation)])
  return ending
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
