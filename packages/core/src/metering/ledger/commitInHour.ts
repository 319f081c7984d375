/**
 * Commits counts in the open hour of a subscription's ledger. A process remembers which hour is open, so a count usually
 * needs no look at the ledger: its commit fails if the ledger has changed since.
 */
import { DateTime, Effect } from "effect"
import { BoundedMap } from "../../runtime/BoundedMap.ts"
import { makeKeyedLocks } from "../../runtime/keyedLocks.ts"
import { isStale } from "../../store/retryOnConflict.ts"
import { type CommitResult, Store, type StoreOperations } from "../../store/Store.ts"
import type { StoreError } from "../../store/StoreError.ts"
import type { Entitlement, PeriodLimits } from "../model/Entitlement.ts"
import type { Amounts } from "../model/Quota.ts"
import { isOpenFor, type PreparedHour, prepareHour, toOpened } from "./openHours.ts"

/** Maximum size of the hours that a process remembers, in bytes. */
const maxCacheBytes = 16 * 1024 * 1024

/** The approximate size of an hour in memory, in bytes. The changes that open one contain records. */
const estimateSize = ({ openHour, changes }: PreparedHour): number =>
  changes.reduce(
    (sum, change) => sum + 200 + ("body" in change ? change.body.length : 0),
    500 + 100 * openHour.meters.size
  )

interface Committed {
  readonly commitResult: CommitResult
}

/** What to count: amounts, now, against the limits of an entitlement. */
interface Counting {
  readonly bucketId: string
  readonly entitlement: Entitlement
  readonly limits: PeriodLimits
  readonly amounts: Amounts
  /** Epoch milliseconds. */
  readonly now: number
  /** When the reservation expires that is to be made. */
  readonly expiresOn: number | undefined
}

type Commit<A, E> = (hour: PreparedHour) => Effect.Effect<A, E>

export const makeCommitInHour = (store: StoreOperations) => {
  const withLock = makeKeyedLocks()
  const hours = new BoundedMap<string, PreparedHour>(maxCacheBytes, estimateSize)
  /** The open hours again, found without making a key. */
  const openHours = new WeakMap<PeriodLimits, PreparedHour>()

  const commitIn = <A, E>({ bucketId, entitlement, limits }: Counting, hour: PreparedHour, commit: Commit<A, E>) =>
    Effect.catchEager(commit(hour), (error) => {
      if (isStale(error)) {
        const key = toKey(bucketId, entitlement)
        if (hours.get(key) === hour) hours.delete(key)
        if (openHours.get(limits) === hour) openHours.delete(limits)
      }
      return Effect.fail(error)
    })

  const findOrOpen = <A extends Committed, E>(
    counting: Counting,
    commit: Commit<A, E>
  ): Effect.Effect<A, E | StoreError> => {
    const { bucketId, entitlement, limits, amounts, now, expiresOn } = counting
    const { id: subscriptionId } = entitlement.subscription.value
    const key = toKey(bucketId, entitlement)
    const periodStart = DateTime.toEpochMillis(limits.period.start)
    const isUsable = (hour: PreparedHour | undefined): hour is PreparedHour =>
      isOpenFor(hour?.openHour, periodStart, amounts, now, expiresOn)

    const remembered = hours.get(key)
    if (isUsable(remembered) && remembered.isOpen) {
      openHours.set(limits, remembered)
      return commitIn(counting, remembered, commit)
    }
    const meters = Object.keys(amounts)
    // One at a time: all others would conflict with the one that opens the hour.
    const open = Effect.gen(function* () {
      const latest = hours.get(key)
      // After a refusal, the hour is still to be opened, by the same changes.
      const hour = isUsable(latest)
        ? latest
        : yield* prepareHour({ bucketId, entitlement, periodStart, meters, now, expiresOn })
      hours.set(key, hour)
      const committed = yield* commitIn(counting, hour, commit)
      if (!hour.isOpen) hours.set(key, toOpened(hour, subscriptionId, committed.commitResult))
      return committed
    })
    return Effect.provideService(withLock(key, open), Store, store)
  }

  /** Passes the hour to count in to `commit`, with the changes that open it, or that check that it is still open. */
  return <A extends Committed, E>(counting: Counting, commit: Commit<A, E>): Effect.Effect<A, E | StoreError> => {
    const { limits, amounts, now, expiresOn } = counting
    const hour = openHours.get(limits)
    if (hour !== undefined && isOpenFor(hour.openHour, hour.openHour.periodStart, amounts, now, expiresOn)) {
      return commitIn(counting, hour, commit)
    }
    return isEmpty(amounts) ? commit(noHour) : findOrOpen(counting, commit)
  }
}

const toKey = (bucketId: string, { subscription }: Entitlement): string => `${bucketId} ${subscription.value.id}`

const isEmpty = (amounts: Amounts): boolean => {
  for (const _ in amounts) return false
  return true
}

const noHour: PreparedHour = {
  openHour: { hour: 0, periodStart: 0, meters: new Set<string>(), firstExpiry: Number.POSITIVE_INFINITY },
  isOpen: true,
  changes: []
}
