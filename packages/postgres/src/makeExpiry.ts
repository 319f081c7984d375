/**
 * Fails the calls that have waited too long for their turn, so that a slow server does not make a longer and longer queue.
 */
import { StoreUnavailable } from "@tollgate/store"
import type { Database } from "./Database.ts"

export const makeExpiry = (operation: StoreUnavailable["operation"], { queryTimeout }: Database) => ({
  maxWaitMs: queryTimeout,
  makeError: () =>
    new StoreUnavailable({
      operation,
      problem: `earlier calls have kept PostgreSQL busy for ${queryTimeout} ms`,
      retryable: true,
      outcome: "not-applied"
    })
})
