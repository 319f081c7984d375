/**
 * Ends the reservation of a request: charges a request that succeeded, and gives back what any other one has reserved. It
 * happens in the background, so that it neither delays nor fails the response.
 */
import { Cause, Effect, Schedule } from "effect"
import type { BackgroundTasks } from "../runtime/BackgroundTasks.ts"
import { StoreConflict, StoreUnavailable } from "../store/StoreError.ts"
import type { RequestCharge } from "./authorize.ts"

/**
 * Tells how a request ended. Only the first `success` or `failure` has an effect. Before it, `sent` tells that a part of a
 * response with a status below 400 was sent: a client that disconnects then has got something.
 */
export type ReportOutcome = (outcome: "sent" | "success" | "failure") => void

const isTransient = (error: unknown): boolean =>
  error instanceof StoreConflict || (error instanceof StoreUnavailable && error.retryable)

/** Long enough for a store to restart or to fail over. */
const backoff = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced("2 seconds")]).pipe(
  Schedule.jittered,
  Schedule.upTo({ duration: "30 seconds" })
)

const describeCause = (cause: Cause.Cause<unknown>): string => {
  if (Cause.hasInterruptsOnly(cause)) return "Tollgate was closed"
  const error = Cause.squash(cause)
  return error instanceof Error ? error.message : String(error)
}

export const makeReportOutcome = (
  { reservationId, includesPartial, settle, release }: RequestCharge,
  { start }: BackgroundTasks
): ReportOutcome => {
  let isSent = false
  let isReported = false
  return (outcome) => {
    if (isReported) return
    if (outcome === "sent") {
      isSent = true
      return
    }
    isReported = true
    const [ending, failure] =
      outcome === "success" || (isSent && includesPartial)
        ? [settle, "A request was not charged"]
        : [release, "What a request has reserved was not given back yet"]
    const warn = (cause: Cause.Cause<unknown>) =>
      Effect.logWarning(`${failure}: ${describeCause(cause)}. Its reservation ${reservationId} expires within an hour.`)
    start(
      Effect.retry(ending, { while: isTransient, schedule: backoff }).pipe(Effect.onError(warn), Effect.ignoreCause)
    )
  }
}
