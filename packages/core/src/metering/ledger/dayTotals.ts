/**
 * The totals of all subscriptions of a metering bucket, per meter and day. Every commit that counts adds to them.
 */

import { type Change, StoreConflict } from "@tollgate/store/internal"
import { Effect } from "effect"
import { isDayCounter } from "../model/usageCounters.ts"

const isTotalFull = (error: unknown): error is StoreConflict =>
  error instanceof StoreConflict && error.reason === "counter-exceeded" && isDayCounter(error.subject)

/**
 * Commits changes. If a total would exceed 2^53 - 1, it stays as it is: the usage of one customer must not stop that of
 * the others.
 */
export const commitWithTotals = <A, E>(
  changes: ReadonlyArray<Change>,
  commit: (changes: ReadonlyArray<Change>) => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.catchEager(commit(changes), (error) =>
    isTotalFull(error)
      ? commitWithTotals(
          changes.filter((change) => !("counter" in change) || change.counter !== error.subject),
          commit
        )
      : Effect.fail(error)
  )
