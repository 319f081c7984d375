import { defineError } from "@tollgate/store/internal"
import { Schema } from "effect"

const idField = { reservationId: Schema.String.annotate({ description: "The ID of the reservation." }) }

export class ReservationNotFound extends defineError<ReservationNotFound>()(
  "ReservationNotFound",
  {
    code: "reservation-not-found",
    status: 404,
    title: "Reservation not found",
    meaning: "The subscription has no such reservation, or the reservation ended more than a day ago.",
    remedy:
      "Check the ID and the subscription. If the work was done and was not settled before, record its usage instead.",
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
    meaning: "The reservation was settled or released already.",
    remedy:
      "Nothing needs to be done if your own request ended it. To repeat a settle safely, send the same " +
      "`Idempotency-Key`.",
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
    meaning: "The reservation has expired, and the amounts that it held were given back.",
    remedy:
      "Record what was used with the operation that records usage. For longer work, reserve with a larger `expiresIn`.",
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
    meaning: "The subscription has the maximum of open reservations.",
    remedy:
      "Settle or release reservations, or wait until some expire. Reserve with a smaller `expiresIn` if " +
      "reservations are left open.",
    detail: ({ max }) =>
      `A subscription may have at most ${max.toLocaleString("en-US")} open reservations. Settle or release one first.`
  },
  { max: Schema.Int.annotate({ description: "The maximum number of open reservations." }) }
) {}
