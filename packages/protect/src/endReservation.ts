/**
 * Ends the reservation of a request in the background, so that it neither delays nor fails the response.
 */

import { StoreConflict, StoreUnavailable } from "@tollgate/core"
import { Cause, Effect, Schedule } from "effect"

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

export const notCharged = "A request was not charged"
export const notGivenBack = "What a request has reserved was not given back yet"

/** Tries again while the store is away, and logs why it could not be done. Returns whether it was. */
export const endReservation = (
  reservationId: string,
  ending: Effect.Effect<void, unknown>,
  failure: typeof notCharged | typeof notGivenBack
): Effect.Effect<boolean> =>
  Effect.retry(ending, { while: isTransient, schedule: backoff }).pipe(
    Effect.onError((cause) =>
      Effect.logWarning(`${failure}: ${describeCause(cause)}. Its reservation ${reservationId} expires within an hour.`)
    ),
    Effect.as(true),
    Effect.catchCause(() => Effect.succeed(false))
  )
