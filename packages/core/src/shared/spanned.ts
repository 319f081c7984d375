import { Effect } from "effect"

/**
 * A span around an operation that does not hold what the operation returned: answers have key values in them, and a
 * tracer is not the place for those.
 */
export const spanned =
  (name: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.suspend(() => {
      let returned: { readonly result: A } | undefined
      const kept = Effect.asVoid(
        Effect.tap(effect, (result) =>
          Effect.sync(() => {
            returned = { result }
          })
        )
      )
      return Effect.flatMap(Effect.withSpan(kept, name), () =>
        returned === undefined ? Effect.die("an operation ended without its result") : Effect.succeed(returned.result)
      )
    })
