/**
 * A reservation: amounts that are held while work of unknown cost is done. It is settled at what was used, released, or
 * given back when it expires.
 */

import { Id, recordByShortName, Timestamp } from "@tollgate/store/internal"
import { Schema } from "effect"
import { Labels } from "./Labels.ts"
import { Amounts, Quotas } from "./Quota.ts"

/** The id of a reservation. It begins with `rsv_`. */
export const ReservationId = Id("rsv").pipe(Schema.brand("ReservationId"))
export type ReservationId = typeof ReservationId.Type

/** In seconds. */
export const maxReservationSeconds = 3_600
export const defaultReservationSeconds = 60

/** Seconds until a reservation expires. */
export const ReservationSeconds = Schema.Int.pipe(
  Schema.check(Schema.isBetween({ minimum: 1, maximum: maxReservationSeconds }))
)

/** The input of `reserve`: the amount to hold on each meter, and for how long. */
export const ReservationCreate = Schema.Struct({
  meters: Amounts,
  expiresIn: Schema.optionalKey(ReservationSeconds)
}).annotate({ identifier: "ReservationCreate" })

/** Amounts that are held for a subscription until they are settled, released or expire. */
export const Reservation = Schema.Struct({
  id: ReservationId,
  meters: Schema.Record(Schema.String, Schema.Finite),
  expiresOn: Timestamp,
  /** The quotas of the reserved meters, with the reservation counted as used. */
  quotas: Quotas
}).annotate({ identifier: "Reservation" })
export type Reservation = typeof Reservation.Type
/** A reservation, as plain JSON. */
export type ReservationJson = typeof Reservation.Encoded

const SettledAmount = Schema.Int.pipe(
  Schema.check(
    Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, { expected: "a non-negative integer" })
  )
)

/** What was used of each reserved meter. Meters that are not named were not used. */
export const Settlement = Schema.Struct({
  meters: recordByShortName(SettledAmount).pipe(Schema.check(Schema.isMaxProperties(50))),
  /** Replace those of the decision that made the reservation. */
  labels: Schema.optionalKey(Labels)
}).annotate({ identifier: "Settlement" })
