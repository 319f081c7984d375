/**
 * Retries a read-compute-commit after a conflicting write, a bounded number of times, with exponential backoff and
 * jitter.
 */
import { Clock, Effect, Schedule } from "effect"
import { StoreConflict } from "./StoreError.ts"

/** After this many conflicts in a row, the `StoreConflict` is returned to the caller. */
const maxAttempts = 12

const backoff = Schedule.exponential("1 millis", 1.6).pipe(Schedule.jittered)

/**
 * The real clock, for delays between retries and background jobs. A test that stops its `TestClock` must not stop a
 * retry, and a test that advances it by years must not run a background job once for every interval.
 */
export const liveClock = Clock.Clock.defaultValue()

/** Whether a record has changed since it was read. */
export const isStale = (error: unknown): error is StoreConflict =>
  error instanceof StoreConflict && error.reason === "stale"

/** Repeats `attempt` while it fails with a stale `StoreConflict` or an error that `isRetryable` accepts. */
export const retryOnConflict = <A, E, R>(
  attempt: Effect.Effect<A, E, R>,
  isRetryable: (error: unknown) => boolean = isStale
): Effect.Effect<A, E, R> =>
  Effect.clockWith((clock) =>
    attempt.pipe(
      Effect.provideService(Clock.Clock, clock),
      Effect.retry({
        while: (error) => isStale(error) || isRetryable(error),
        schedule: backoff,
        times: maxAttempts - 1
      }),
      Effect.provideService(Clock.Clock, liveClock)
    )
  )
