import { Effect, Tracer } from "effect"

/**
 * A span around an operation that does not hold what the operation returned: answers have key values in them, and a
 * tracer is not the place for those. Where nobody traces, there is none.
 */
export const withSafeSpan =
  (name: string, options: () => Tracer.SpanOptions = () => ({})) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Tracer.Tracer, (tracer) => {
      if (tracer === Tracer.nativeTracer) return effect
      let returned: { readonly result: A } | undefined
      const kept = Effect.asVoid(
        Effect.tap(effect, (result) =>
          Effect.sync(() => {
            returned = { result }
          })
        )
      )
      return Effect.flatMap(Effect.withSpan(kept, name, { ...options(), captureStackTrace: false }), () =>
        returned === undefined ? Effect.die("an operation ended without its result") : Effect.succeed(returned.result)
      )
    })
