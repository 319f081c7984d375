import { Effect } from "effect"
import { settleWithin } from "./settleWithin.ts"

/** How long an interruption waits for the aborted work to settle. */
const abortTimeoutMs = 5_000

/**
 * Converts promise-based work to an Effect. On interruption it aborts the signal, then waits up to 5 seconds for the work to
 * settle, so that cleanup does not race with the work.
 */
export const abortablePromise = <A, E>(
  work: (signal: AbortSignal) => Promise<A>,
  mapError: (error: unknown) => E
): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    const controller = new AbortController()
    const promise = Promise.resolve().then(() => work(controller.signal))
    const abortAndWait = () => {
      controller.abort()
      return settleWithin(abortTimeoutMs, promise)
    }
    return Effect.tryPromise({ try: () => promise, catch: mapError }).pipe(
      Effect.onInterrupt(() => Effect.promise(abortAndWait))
    )
  })
