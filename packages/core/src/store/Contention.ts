/**
 * What to do when another writer was faster: read again and try again, a bounded number of times, a random moment
 * later.
 */
import { Clock, Effect, Schedule } from "effect"
import type { StoreConflict } from "./StoreError.ts"

/** A writer that loses this often in a row is told so. */
export const attempts = 12

const jittered = Schedule.exponential("1 millis", 1.6).pipe(Schedule.jittered)

// Waiting for another writer is a matter of the machine, not of the domain: a test that stops the clock must not
// stop the retry.
const machineClock = Clock.Clock.defaultValue()

const isStale = (error: unknown): boolean =>
  typeof error === "object" &&
  error !== null &&
  "_tag" in error &&
  error._tag === "StoreConflict" &&
  (error as StoreConflict).reason === "stale"

/** Repeats a whole read-compute-commit while its commit is stale. */
export const retryWhenStale = <A, E, R>(attempt: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.clockWith((clock) =>
    attempt.pipe(
      Effect.provideService(Clock.Clock, clock),
      Effect.retry({ while: isStale, schedule: jittered, times: attempts - 1 }),
      Effect.provideService(Clock.Clock, machineClock)
    )
  )
