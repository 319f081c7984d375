import { Cause, Effect } from "effect"

/** Runs best-effort work: a failure is logged instead of raised, and a later sweep retries the work. */
export const runBestEffort = <A, E, R>(
  operation: string,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<void, never, R> =>
  Effect.asVoid(effect).pipe(
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.logWarning(`${operation} failed`, cause)
    )
  )
