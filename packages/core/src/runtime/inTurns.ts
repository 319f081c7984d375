/**
 * Long loops in turns of some milliseconds, so that nothing that a tenant stores holds up the event loop.
 */
import { Clock, Effect } from "effect"

const turn = 10_000_000n

/** A clock that a test does not stop. */
const machineClock = Clock.Clock.defaultValue()

/** `Effect.forEach`, one after the other, with a pause for others where it takes longer than a turn. */
export const forEachInTurns = <A, B, E, R>(
  items: ReadonlyArray<A>,
  run: (item: A, index: number) => Effect.Effect<B, E, R>
): Effect.Effect<Array<B>, E, R> =>
  Effect.gen(function* () {
    const results: Array<B> = []
    let start = machineClock.monotonicTimeNanosUnsafe()
    for (const [index, item] of items.entries()) {
      results.push(yield* run(item, index))
      if (machineClock.monotonicTimeNanosUnsafe() - start < turn) continue
      yield* Effect.yieldNow
      start = machineClock.monotonicTimeNanosUnsafe()
    }
    return results
  })
