import { Effect, Exit } from "effect"

/**
 * Calls a function when the effect ends, for the hot path: at once, if it has ended already. `Effect.onExit` accepts that
 * there is no finalizer to run, which saves an effect, but its type does not say so.
 */
export const onExitEager = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  onExit: (exit: Exit.Exit<A, E>) => void
): Effect.Effect<A, E, R> => {
  if (!Exit.isExit(effect)) return Effect.onExit(effect, onExit as (exit: Exit.Exit<A, E>) => Effect.Effect<void>)
  onExit(effect as Exit.Exit<A, E>)
  return effect
}
