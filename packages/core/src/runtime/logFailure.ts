import { Cause, Effect } from "effect"

/** Runs what nobody waits for: a failure is logged, and a later sweep makes up for it. */
export const logFailure = <A, E, R>(what: string, effect: Effect.Effect<A, E, R>): Effect.Effect<void, never, R> =>
  Effect.asVoid(effect).pipe(
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.logWarning(`${what} failed`, cause)
    )
  )
