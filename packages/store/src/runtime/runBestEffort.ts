import { Cause, Effect } from "effect"

/** Runs the effect and always succeeds: logs a failure as a warning. Only an interruption passes through. */
export const runBestEffort = <A, E, R>(
  operation: string,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<void, never, R> =>
  Effect.asVoid(effect).pipe(
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.logWarning(`${operation} failed`, cause)
    )
  )
