/**
 * Commits counts in the open hour of a subscription's ledger. A process remembers which hour is open, so a count usually
 * needs no look at the ledger: its commit fails if the ledger has changed since.
 */
import { Effect } from "effect"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import { makeKeyedLocks } from "../runtime/keyedLocks.ts"
import type { IdempotentResult } from "../store/Idempotency.ts"
import { Store, type StoreOperations } from "../store/Store.ts"
import { StoreConflict, type StoreError } from "../store/StoreError.ts"
import { isOpenFor, type Opening, type PreparedHour, prepareHour, toOpened } from "./openHours.ts"
import type { Amounts } from "./Quota.ts"

/** Maximum size of the hours that a process remembers, in bytes. */
const maxCacheBytes = 16 * 1024 * 1024

/** The approximate size of an hour in memory, in bytes. The changes that open one contain records. */
const estimateSize = ({ openHour, changes }: PreparedHour): number =>
  changes.reduce(
    (sum, change) => sum + 200 + ("body" in change ? change.body.length : 0),
    500 + 100 * openHour.meters.size
  )

interface Committed {
  readonly commitResult: IdempotentResult<unknown>
}

export const makeCommitInHour = (store: StoreOperations) => {
  const withLock = makeKeyedLocks()
  const hours = new BoundedMap<string, PreparedHour>(maxCacheBytes, estimateSize)

  /** Passes the hour to count in to `commit`, with the changes that open it, or that check that it is still open. */
  return <A extends Committed, E>(
    opening: Omit<Opening, "meters">,
    amounts: Amounts,
    commit: (hour: PreparedHour) => Effect.Effect<A, E>
  ): Effect.Effect<A, E | StoreError> => {
    const { bucketId, entitlement, periodStart, now } = opening
    const { id: subscriptionId } = entitlement.subscription.value
    const key = `${bucketId} ${subscriptionId}`
    const isUsable = (hour: PreparedHour | undefined): hour is PreparedHour =>
      isOpenFor(hour?.openHour, periodStart, amounts, now)

    const commitIn = (hour: PreparedHour) =>
      Effect.tapError(commit(hour), (error) =>
        Effect.sync(() => {
          const isStale = error instanceof StoreConflict && error.reason === "stale"
          if (isStale && hours.get(key) === hour) hours.delete(key)
        })
      )

    const remembered = hours.get(key)
    if (isUsable(remembered) && remembered.isOpen) return commitIn(remembered)
    const meters = Object.keys(amounts)
    if (meters.length === 0) return commit(noHour)
    // One at a time: all others would conflict with the one that opens the hour.
    const open = Effect.gen(function* () {
      const latest = hours.get(key)
      // After a refusal, the hour is still to be opened, by the same changes.
      const hour = isUsable(latest) ? latest : yield* prepareHour({ ...opening, meters })
      hours.set(key, hour)
      const committed = yield* commitIn(hour)
      const isReplay = committed.commitResult.previousResult !== undefined
      if (!isReplay && !hour.isOpen) hours.set(key, toOpened(hour, subscriptionId, committed.commitResult))
      return committed
    })
    return Effect.provideService(withLock(key, open), Store, store)
  }
}

const noHour: PreparedHour = {
  openHour: { hour: 0, periodStart: 0, meters: new Set<string>() },
  isOpen: true,
  changes: []
}
