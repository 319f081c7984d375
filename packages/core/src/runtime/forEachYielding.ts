/**
 * Loops that yield to the event loop every 10 ms, so that the data of one tenant cannot block all others.
 */
import { Clock, Effect } from "effect"

const maxTurnNanos = 10_000_000n

/** The real clock: a test that stops its `TestClock` must not stop the loop from yielding. */
const liveClock = Clock.Clock.defaultValue()

/** Like a sequential `Effect.forEach`, but yields to other fibers and the event loop after every 10 ms. */
export const forEachYielding = <A, B, E, R>(
  items: ReadonlyArray<A>,
  run: (item: A, index: number) => Effect.Effect<B, E, R>
): Effect.Effect<Array<B>, E, R> =>
  Effect.gen(function* () {
    const results: Array<B> = []
    let start = liveClock.monotonicTimeNanosUnsafe()
    for (const [index, item] of items.entries()) {
      results.push(yield* run(item, index))
      if (liveClock.monotonicTimeNanosUnsafe() - start < maxTurnNanos) continue
      yield* Effect.yieldNow
      start = liveClock.monotonicTimeNanosUnsafe()
    }
    return results
  })
