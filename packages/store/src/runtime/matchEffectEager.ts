import { Cause, Effect, Result } from "effect"

/** `Effect.matchEffect` that needs no fiber if the effect has ended already. */
export const matchEffectEager = <A, E, B, E2, R, R2>(
  effect: Effect.Effect<A, E, R>,
  onFailure: (error: E) => Effect.Effect<B, E2, R2>,
  onSuccess: (value: A) => Effect.Effect<B, E2, R2>
): Effect.Effect<B, E2, R | R2> =>
  Effect.matchCauseEffectEager(effect, {
    onSuccess,
    onFailure: (cause) => {
      const error = Cause.findError(cause)
      return Result.isSuccess(error) ? onFailure(error.success) : Effect.failCause(error.failure)
    }
  })
