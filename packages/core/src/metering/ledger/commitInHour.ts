/**
 * Commits counts in the open hour of a subscription's ledger. A process remembers which hour is open, so a count usually
 * needs no look at the ledger: its commit fails if the ledger has changed since.
 */

import {
  BoundedMap,
  type CommitResult,
  isStale,
  makeKeyedLocks,
  Store,
  type StoreError,
  type StoreOperations
} from "@tollgate/store/internal"
import { Effect } from "effect"
import type { Entitlement, PeriodLimits } from "../model/Entitlement.ts"
import type { Amounts } from "../model/Quota.ts"
import { getUsageId } from "../model/Subscription.ts"
import { isOpenFor, type PreparedHour, prepareHour, toOpened } from "./openHours.ts"

/** Maximum size of the hours that a process remembers, in bytes. */
const maxCacheBytes = 16 * 1024 * 1024

/** The approximate size of an hour in memory, in bytes. The changes that open one contain records. */
const estimateSize = ({ openHour, changes }: PreparedHour): number =>
  changes.reduce(
    (sum, change) => sum + 200 + ("body" in change ? change.body.length : 0),
    500 + 300 * openHour.meters.size
  )

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

type Commit<E> = (hour: PreparedHour) => Effect.Effect<CommitResult, E>

export const makeCommitInHour = (store: StoreOperations) => {
  const withLock = makeKeyedLocks()
  const hours = new BoundedMap<string, PreparedHour>(maxCacheBytes, estimateSize)
  /** The open hours again, found without making a key. */
  const openHours = new WeakMap<PeriodLimits, PreparedHour>()

  const commitIn = <E>({ bucketId, entitlement, limits }: Counting, hour: PreparedHour, commit: Commit<E>) =>
    Effect.catchEager(commit(hour), (error) => {
      if (isStale(error)) {
        const key = toKey(bucketId, entitlement)
        if (hours.get(key) === hour) hours.delete(key)
        if (openHours.get(limits) === hour) openHours.delete(limits)
      }
      return Effect.fail(error)
    })

  const findOrOpen = <E>(counting: Counting, commit: Commit<E>): Effect.Effect<CommitResult, E | StoreError> => {
    const { bucketId, entitlement, limits, amounts, now, expiresOn } = counting
    const usageId = getUsageId(entitlement.subscription.value)
    const key = toKey(bucketId, entitlement)
    const isUsable = (hour: PreparedHour | undefined): hour is PreparedHour =>
      isOpenFor(hour?.openHour, limits, amounts, now, expiresOn)

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
        : yield* prepareHour({ bucketId, entitlement, limits, meters, now, expiresOn })
      hours.set(key, hour)
      const commitResult = yield* commitIn(counting, hour, commit)
      if (!hour.isOpen) hours.set(key, toOpened(hour, usageId, commitResult))
      return commitResult
    })
    return Effect.provideService(withLock(key, open), Store, store)
  }

  /** Passes the hour to count in to `commit`, with the changes that open it, or that check that it is still open. */
  return <E>(counting: Counting, commit: Commit<E>): Effect.Effect<CommitResult, E | StoreError> => {
    const { limits, amounts, now, expiresOn } = counting
    const hour = openHours.get(limits)
    if (hour !== undefined && isOpenFor(hour.openHour, limits, amounts, now, expiresOn)) {
      return commitIn(counting, hour, commit)
    }
    return isEmpty(amounts) ? commit(noHour) : findOrOpen(counting, commit)
  }
}

const toKey = (bucketId: string, { subscription }: Entitlement): string =>
  `${bucketId} ${getUsageId(subscription.value)}`

const isEmpty = (amounts: Amounts): boolean => {
  for (const _ in amounts) return false
  return true
}

const noHour: PreparedHour = {
  openHour: {
    hour: 0,
    from: 0,
    until: 0,
    meters: new Map(),
    firstExpiry: Number.POSITIVE_INFINITY
  },
  isOpen: true,
  changes: []
}
