/**
 * The reservations of requests to protected routes, whose outcome decides whether they are charged. A request that ended
 * in time leaves nothing behind: a counter for each would take too much space.
 */

import {
  Change,
  type Entry,
  Ids,
  Partition,
  retryOnConflict,
  runInFiber,
  Store,
  StoreConflict,
  type StoreError,
  type StoreOperations,
  type TrustedClock
} from "@tollgate/store/internal"
import { DateTime, Effect } from "effect"
import type { UseRecorder } from "../groups/UseRecorder.ts"
import { commitWithTotals } from "../ledger/dayTotals.ts"
import { endReservation } from "../ledger/endReservation.ts"
import { hasExpired } from "../ledger/giveBackExpired.ts"
import { type MeterAmounts, noAmounts } from "../ledger/UsageLedger.ts"
import { dayMs } from "../model/clockSteps.ts"
import type { UsedBy } from "../model/Labels.ts"
import type { Amounts } from "../model/Quota.ts"
import { maxReservationSeconds, ReservationId } from "../model/Reservation.ts"
import {
  endings,
  getEndingCounter,
  readEnding,
  rememberEnding,
  reservationRecords,
  type StoredReservation
} from "../model/reservationRecords.ts"
import type { ConsumeResult } from "../usage/ConsumeResult.ts"
import type { CountRequest } from "../usage/CountRequest.ts"
import type { CommitCount } from "../usage/countUsage.ts"
import type { SubscriptionRefusal } from "../usage/SubscriptionRefusal.ts"
import type { CustomerCountError, SubscriptionCountError, Usage } from "../usage/Usage.ts"
import { noteReserved } from "./noteReserved.ts"

export interface RequestReservations {
  /** Reserves for a customer, by default for as long as possible. */
  readonly reserveForCustomer: <E extends { readonly _tag: string } = never>(
    accountName: string,
    bucketId: string,
    customerKey: string,
    request: Omit<CountRequest, "kind">,
    options?: { readonly expiresInMs?: number | undefined; readonly commitOnce?: CommitCount<E> | undefined }
  ) => Effect.Effect<ConsumeResult | SubscriptionRefusal, CustomerCountError | E>
  /** Charges a request: counts what it has used, at most what was reserved, also if the reservation has expired. */
  readonly settleRequest: (
    bucketId: string,
    entry: Entry<StoredReservation>,
    used: Amounts,
    usedBy?: UsedBy
  ) => Effect.Effect<void, SubscriptionCountError>
  /** Does not charge a request: gives back all that was reserved. */
  readonly releaseRequest: (bucketId: string, entry: Entry<StoredReservation>) => Effect.Effect<void, StoreError>
  /** Counts once what a request has used whose reservation was released, also above the maximum. */
  readonly countReleasedRequest: (
    bucketId: string,
    reservation: StoredReservation,
    used: Amounts,
    usedBy?: UsedBy
  ) => Effect.Effect<void, SubscriptionCountError>
}

interface Services {
  readonly store: StoreOperations
  readonly usage: Usage["Service"]
  readonly trustedClock: TrustedClock["Service"]
  readonly useRecorder: UseRecorder["Service"]
  /** Sees to it that a reservation is given back when it has expired. */
  readonly ensureGivenBack: (
    bucketId: string,
    accountName: Effect.Effect<string>,
    expiresInMs: number
  ) => Effect.Effect<void, StoreError>
}

export const makeRequestReservations = ({
  store,
  usage,
  trustedClock,
  useRecorder,
  ensureGivenBack
}: Services): RequestReservations => {
  const withStore = Effect.provideService(Store, store)

  /** Ends the reservation of a request. Returns `false` if it has ended already. */
  const end = (bucketId: string, entry: Entry<StoredReservation>, used: MeterAmounts) => {
    const partition = Partition.forMeteringBucket(bucketId)
    const isGone = (error: unknown) =>
      error instanceof StoreConflict && error.subject === reservationRecords.recordKey(entry.value.id)
    const attempt = Effect.gen(function* () {
      const now = yield* trustedClock.now
      const nowMs = DateTime.toEpochMillis(now)
      // The ending matters only if the reservation could have been given back.
      const ending = hasExpired(entry.value, now)
        ? rememberEnding(entry.value, "settled", { endedAt: nowMs, now: nowMs })
        : []
      const changes = [...(yield* endReservation(partition, entry, used, nowMs)), ...ending]
      yield* commitWithTotals(changes, (changes) => store.commit(partition, changes))
      return true
    })
    return retryOnConflict(Effect.catchIf(attempt, isGone, () => Effect.succeed(false))).pipe(withStore)
  }

  /**
   * Counts what a request has used if its reservation has expired. The counter of its ending makes sure that it is counted
   * once.
   */
  const countIfExpired = Effect.fnUntraced(function* (
    bucketId: string,
    reservation: StoredReservation,
    used: Amounts,
    usedBy: UsedBy | undefined
  ) {
    const { expiresOn } = reservation
    const ending = yield* readEnding(Partition.forMeteringBucket(bucketId), reservation)
    const forgottenOn = DateTime.add(expiresOn, { milliseconds: dayMs })
    const isForgotten = ending === 0 && DateTime.isLessThanOrEqualTo(forgottenOn, yield* trustedClock.now)
    // Otherwise an earlier attempt has ended it, although its reply was lost.
    if (ending === endings.expired || isForgotten) yield* countLate(bucketId, reservation, used, usedBy, ending)
  }, withStore)

  /** Counts once what was used after the reservation has ended. `ending`: the counter of its ending. */
  const countLate = Effect.fnUntraced(function* (
    bucketId: string,
    reservation: StoredReservation,
    used: Amounts,
    usedBy: UsedBy | undefined,
    ending: number
  ) {
    const { subscriptionId } = reservation
    const amounts = Object.fromEntries(Object.entries(used).filter(([, amount]) => amount > 0))
    if (Object.keys(amounts).length === 0) return
    const by = endings.countedLate - ending
    const change = Change.Add({ counter: getEndingCounter(reservation), by, max: endings.countedLate, ttl: dayMs })
    const request = { amounts, rateLimitTakes: [], kind: "record", usedBy, change } as const
    const count = runInFiber(store, (hotPath) => usage.countForSubscription(bucketId, subscriptionId, request, hotPath))
    yield* count.pipe(
      // Counted already, or there is no subscription any more that it could be counted on.
      Effect.catchTags({
        QuotaExceeded: () => Effect.void,
        SubscriptionNotFound: () => Effect.void,
        MeteringBucketNotFound: () => Effect.void
      })
    )
  }, withStore)

  return {
    reserveForCustomer: Effect.fnUntraced(function* <E extends { readonly _tag: string } = never>(
      accountName: string,
      bucketId: string,
      customerKey: string,
      request: Omit<CountRequest, "kind">,
      {
        expiresInMs = maxReservationSeconds * 1_000,
        commitOnce
      }: { readonly expiresInMs?: number | undefined; readonly commitOnce?: CommitCount<E> | undefined } = {}
    ) {
      yield* ensureGivenBack(bucketId, Effect.succeed(accountName), expiresInMs)
      const kind = { id: ReservationId.make(yield* Ids.generate("rsv")), expiresInMs }
      return yield* runInFiber(store, (hotPath) =>
        usage.countForCustomer(accountName, bucketId, customerKey, { ...request, kind }, hotPath, commitOnce)
      )
    }, withStore),
    settleRequest: (bucketId, entry, used, usedBy) =>
      Effect.flatMap(end(bucketId, entry, new Map(Object.entries(used))), (isSettled) => {
        if (!isSettled) return countIfExpired(bucketId, entry.value, used, usedBy)
        noteReserved(useRecorder, bucketId, entry.value, used, usedBy)
        return usage.reportSettledRequest(bucketId, entry.value)
      }),
    releaseRequest: (bucketId, entry) => Effect.asVoid(end(bucketId, entry, noAmounts)),
    countReleasedRequest: (bucketId, reservation, used, usedBy) =>
      Effect.flatMap(readEnding(Partition.forMeteringBucket(bucketId), reservation), (ending) =>
        ending === endings.countedLate ? Effect.void : countLate(bucketId, reservation, used, usedBy, ending)
      ).pipe(withStore)
  }
}
