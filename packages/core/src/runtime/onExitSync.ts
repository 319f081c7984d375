import { Effect, type Exit } from "effect"

/**
 * Calls a function when the effect ends, for the hot path: `Effect.onExit` accepts that there is no finalizer to run,
 * which saves an effect, but its type does not say so.
 */
export const onExitSync = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  onExit: (exit: Exit.Exit<A, E>) => void
): Effect.Effect<A, E, R> => Effect.onExit(effect, onExit as (exit: Exit.Exit<A, E>) => Effect.Effect<void>)
