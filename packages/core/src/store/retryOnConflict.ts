/**
 * What to do when another writer was faster: read again and try again, a bounded number of times, a random moment
 * later.
 */
import { Clock, Effect, Schedule } from "effect"
import { StoreConflict } from "./StoreError.ts"

/** A writer that loses this often in a row is told so. */
export const attempts = 12

const jittered = Schedule.exponential("1 millis", 1.6).pipe(Schedule.jittered)

/**
 * The machine's own clock, for waiting that is not part of the domain: a test that stops its clock must not stop a retry,
 * and one that moves it by years must not run a background job once for every interval.
 */
export const liveClock = Clock.Clock.defaultValue()

const isStale = (error: unknown): boolean => error instanceof StoreConflict && error.reason === "stale"

/** Repeats a whole read-compute-commit while its commit is stale, or was refused for another passing reason. */
export const retryOnConflict = <A, E, R>(
  attempt: Effect.Effect<A, E, R>,
  isRetryable: (error: unknown) => boolean = isStale
): Effect.Effect<A, E, R> =>
  Effect.clockWith((clock) =>
    attempt.pipe(
      Effect.provideService(Clock.Clock, clock),
      Effect.retry({ while: (error) => isStale(error) || isRetryable(error), schedule: jittered, times: attempts - 1 }),
      Effect.provideService(Clock.Clock, liveClock)
    )
  )
