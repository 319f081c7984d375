/**
 * The reservations of requests to protected routes, whose outcome decides whether they are charged. A request that ended
 * in time leaves nothing behind: a counter for each would take too much space.
 */
import { DateTime, Effect } from "effect"
import * as Id from "../../crypto/Id.ts"
import type { TrustedClock } from "../../runtime/TrustedClock.ts"
import type { Entry } from "../../store/Collection.ts"
import { runInFiber } from "../../store/HotPath.ts"
import * as Partition from "../../store/Partition.ts"
import { retryOnConflict } from "../../store/retryOnConflict.ts"
import { Change, Store, type StoreOperations } from "../../store/Store.ts"
import { StoreConflict, type StoreError } from "../../store/StoreError.ts"
import { commitWithTotals } from "../ledger/dayTotals.ts"
import { endReservation } from "../ledger/endReservation.ts"
import { hasExpired } from "../ledger/giveBackExpired.ts"
import {
  endings,
  getEndingCounter,
  readEnding,
  rememberEnding,
  reservationRecords,
  type StoredReservation
} from "../ledger/reservationRecords.ts"
import { type MeterAmounts, noAmounts } from "../ledger/UsageLedger.ts"
import { dayMs } from "../model/clockSteps.ts"
import { maxReservationSeconds, ReservationId } from "../model/Reservation.ts"
import type { ConsumeResult } from "../usage/ConsumeResult.ts"
import type { CountRequest } from "../usage/CountRequest.ts"
import type { CustomerCountError, SubscriptionCountError, SubscriptionRefusal, Usage } from "../usage/Usage.ts"

export interface RequestReservations {
  /** Reserves for as long as possible, for a request whose outcome decides whether it is charged. */
  readonly reserveForCustomer: (
    accountName: string,
    bucketId: string,
    customerKey: string,
    request: Omit<CountRequest, "kind">
  ) => Effect.Effect<ConsumeResult | SubscriptionRefusal, CustomerCountError>
  /** Charges a request: counts all that was reserved, also if the reservation has expired. */
  readonly settleRequest: (
    bucketId: string,
    entry: Entry<StoredReservation>
  ) => Effect.Effect<void, SubscriptionCountError>
  /** Does not charge a request: gives back all that was reserved. */
  readonly releaseRequest: (bucketId: string, entry: Entry<StoredReservation>) => Effect.Effect<void, StoreError>
}

interface Services {
  readonly store: StoreOperations
  readonly usage: Usage["Service"]
  readonly trustedClock: TrustedClock["Service"]
  /** Makes sure that all processes look for expired reservations in a metering bucket. */
  readonly ensureMarked: (bucketId: string) => Effect.Effect<void, StoreError, Store>
}

export const makeRequestReservations = ({
  store,
  usage,
  trustedClock,
  ensureMarked
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
  const countIfExpired = Effect.fnUntraced(function* (bucketId: string, reservation: StoredReservation) {
    const { subscriptionId, meters, expiresOn } = reservation
    const ending = yield* readEnding(Partition.forMeteringBucket(bucketId), reservation)
    const forgottenOn = DateTime.add(expiresOn, { milliseconds: dayMs })
    const isForgotten = ending === 0 && DateTime.isLessThanOrEqualTo(forgottenOn, yield* trustedClock.now)
    // Otherwise an earlier attempt has ended it, although its reply was lost.
    if (ending !== endings.expired && !isForgotten) return
    const by = endings.countedLate - ending
    const change = Change.Add({ counter: getEndingCounter(reservation), by, max: endings.countedLate, ttl: dayMs })
    const request = { amounts: meters, rateLimitTakes: [], kind: "record", change } as const
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
    reserveForCustomer: Effect.fnUntraced(function* (accountName, bucketId, customerKey, request) {
      yield* ensureMarked(bucketId)
      const id = ReservationId.make(yield* Id.generate("rsv"))
      const kind = { id, expiresInMs: maxReservationSeconds * 1_000 }
      return yield* runInFiber(store, (hotPath) =>
        usage.countForCustomer(accountName, bucketId, customerKey, { ...request, kind }, hotPath)
      )
    }, withStore),
    settleRequest: (bucketId, entry) =>
      Effect.flatMap(end(bucketId, entry, new Map(Object.entries(entry.value.meters))), (isSettled) =>
        isSettled ? usage.reportSettledRequest(bucketId, entry.value) : countIfExpired(bucketId, entry.value)
      ),
    releaseRequest: (bucketId, entry) => Effect.asVoid(end(bucketId, entry, noAmounts))
  }
}
