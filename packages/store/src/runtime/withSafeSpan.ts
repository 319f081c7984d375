import { Effect, type Fiber, Tracer } from "effect"

/** Whether spans are recorded. Effect's own tracer, which is the default, records none. */
export const hasTracer = ({ cache: { tracer } }: Fiber.Fiber<unknown, unknown>): boolean =>
  tracer !== undefined && tracer !== Tracer.nativeTracer

/** Whether there is a span whose child a new span would be. Work in the background mostly has none. */
export const hasParentSpan = (fiber: Fiber.Fiber<unknown, unknown>): boolean =>
  hasTracer(fiber) && fiber.cache.span !== undefined

/**
 * Adds a span that hides the operation's result from the tracer: the span's exit has no value, since results may
 * contain key values. Errors are not hidden. Does nothing if no tracer is configured.
 */
export const withSafeSpan =
  (name: string, options: (fiber: Fiber.Fiber<unknown, unknown>) => Tracer.SpanOptions = () => ({})) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber((fiber) => {
      if (!hasTracer(fiber)) return effect
      let success: { readonly result: A } | undefined
      const withoutResult = Effect.asVoid(
        Effect.tap(effect, (result) =>
          Effect.sync(() => {
            success = { result }
          })
        )
      )
      return Effect.flatMap(
        Effect.withSpan(withoutResult, name, { ...options(fiber), captureStackTrace: false }),
        () => (success === undefined ? Effect.die("The span ended without a result") : Effect.succeed(success.result))
      )
    })
