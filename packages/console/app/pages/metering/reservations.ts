/** The reservations that were made in this tab: the API does not list them. */
import { signal } from "@preact/signals"
import type { ReservationJson } from "../../api/types.ts"

export interface OwnReservation {
  readonly subscription: string
  readonly reservation: ReservationJson
  readonly state: "open" | "settled" | "released"
}

export const ownReservations = signal<ReadonlyArray<OwnReservation>>([])

export const addReservation = (subscription: string, reservation: ReservationJson): void => {
  ownReservations.value = [{ subscription, reservation, state: "open" }, ...ownReservations.value]
}

export const endReservation = (id: string, state: OwnReservation["state"]): void => {
  ownReservations.value = ownReservations.value.map((own) => (own.reservation.id === id ? { ...own, state } : own))
}

/** Whether it is open, has been ended, or has expired meanwhile. */
export const getReservationState = ({ reservation, state }: OwnReservation, now: number) =>
  state === "open" && Date.parse(reservation.expiresOn) <= now ? "expired" : state
