import { Schema } from "effect"
import { defineError } from "../errors/defineError.ts"

const idField = { reservationId: Schema.String }

export class ReservationNotFound extends defineError<ReservationNotFound>()(
  "ReservationNotFound",
  {
    code: "reservation-not-found",
    status: 404,
    title: "Reservation not found",
    detail: ({ reservationId }) =>
      `The subscription has no reservation "${reservationId}". Reservations are forgotten a day after they end.`
  },
  idField
) {}

export class ReservationSettled extends defineError<ReservationSettled>()(
  "ReservationSettled",
  {
    code: "reservation-settled",
    status: 409,
    title: "Reservation already settled",
    detail: ({ reservationId }) => `The reservation "${reservationId}" was settled or released already`
  },
  idField
) {}

export class ReservationExpired extends defineError<ReservationExpired>()(
  "ReservationExpired",
  {
    code: "reservation-expired",
    status: 409,
    title: "Reservation expired",
    detail: ({ reservationId }) =>
      `The reservation "${reservationId}" has expired, and what it held was given back. Record what was used instead.`
  },
  idField
) {}

export class ReservationLimit extends defineError<ReservationLimit>()(
  "ReservationLimit",
  {
    code: "reservation-limit",
    status: 409,
    title: "Too many open reservations",
    detail: ({ max }) =>
      `A subscription may have at most ${max.toLocaleString("en-US")} open reservations. Settle or release one first.`
  },
  { max: Schema.Int }
) {}
