import { Effect, Tracer } from "effect"

/**
 * Adds a span without the result of the operation: a span's exit would pass it to the tracer, and results may contain key
 * values. Does nothing if no tracer is configured.
 */
export const withSafeSpan =
  (name: string, options: () => Tracer.SpanOptions = () => ({})) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Tracer.Tracer, (tracer) => {
      if (tracer === Tracer.nativeTracer) return effect
      let success: { readonly result: A } | undefined
      const withoutResult = Effect.asVoid(
        Effect.tap(effect, (result) =>
          Effect.sync(() => {
            success = { result }
          })
        )
      )
      return Effect.flatMap(Effect.withSpan(withoutResult, name, { ...options(), captureStackTrace: false }), () =>
        success === undefined ? Effect.die("The span ended without a result") : Effect.succeed(success.result)
      )
    })
