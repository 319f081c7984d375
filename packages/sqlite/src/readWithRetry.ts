/**
 * Reads from the database, and waits off the event loop while another process holds the lock.
 */
import type { StoreUnavailable } from "@tollgate/store"
import type { Database } from "better-sqlite3"
import { Clock, Effect, Schedule } from "effect"
import { isBusy, makeClosedError, toUnavailable } from "./classifyError.ts"

export const readWithRetry = <A>(
  database: Database,
  operation: StoreUnavailable["operation"],
  run: () => A
): Effect.Effect<A, StoreUnavailable> => {
  const attempt = (whenBusy: (error: StoreUnavailable) => Effect.Effect<A, StoreUnavailable>) =>
    Effect.suspend(() => {
      if (!database.open) return Effect.fail(makeClosedError(operation))
      try {
        return Effect.succeed(run())
      } catch (error) {
        const storeError = toUnavailable(operation, error)
        return isBusy(error) ? whenBusy(storeError) : Effect.fail(storeError)
      }
    })
  // Build the retry only when the first attempt finds the database locked.
  return attempt(() =>
    attempt(Effect.fail).pipe(
      Effect.retry({ while: ({ cause }) => isBusy(cause), schedule: Schedule.spaced("10 millis"), times: 500 }),
      Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())
    )
  )
}
