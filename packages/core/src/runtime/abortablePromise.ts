import { Effect } from "effect"
import { settleWithin } from "./settleWithin.ts"

/** How long an interrupted piece of work may take to end. */
const patience = 5_000

/**
 * Runs a promise that is told when nobody waits for it any more, and is waited for all the same, for a while: so that
 * what it still does is over before anything is made of its leavings.
 */
export const abortablePromise = <A, E>(
  work: (signal: AbortSignal) => Promise<A>,
  explain: (error: unknown) => E
): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    const abort = new AbortController()
    const promise = Promise.resolve().then(() => work(abort.signal))
    const late = () => {
      abort.abort()
      return settleWithin(patience, promise)
    }
    return Effect.tryPromise({ try: () => promise, catch: explain }).pipe(
      Effect.onInterrupt(() => Effect.promise(late))
    )
  })
