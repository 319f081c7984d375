/**
 * Ends the reservation of a request by its outcome: charges a request that succeeded, and gives back what any other one has
 * reserved.
 */

import type { BackgroundTasks, RequestCharge } from "@tollgate/core/internal"
import { Effect } from "effect"
import { endReservation, notCharged, notGivenBack } from "./endReservation.ts"

/**
 * Tells how a request ended. Only the first `success` or `failure` has an effect. Before it, `sent` tells that a part of a
 * response with a status below 400 was sent: a client that disconnects then has got something.
 */
export type ReportOutcome = (outcome: "sent" | "success" | "failure") => void

/** Calls `end` once, with whether the request is charged. */
export const makeReport = (includesPartial: boolean, end: (isCharged: boolean) => void): ReportOutcome => {
  let isSent = false
  let isReported = false
  return (outcome) => {
    if (isReported) return
    if (outcome === "sent") {
      isSent = true
      return
    }
    isReported = true
    end(outcome === "success" || (isSent && includesPartial))
  }
}

export const makeReportOutcome = (
  { reservationId, includesPartial, meters, settle, release }: RequestCharge,
  { start }: BackgroundTasks
): ReportOutcome =>
  makeReport(includesPartial, (isCharged) => {
    const ending = isCharged
      ? endReservation(reservationId, settle(meters), notCharged)
      : endReservation(reservationId, release, notGivenBack)
    start(Effect.asVoid(ending))
  })
