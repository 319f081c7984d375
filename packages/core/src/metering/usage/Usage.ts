/**
 * Counts usage against the quotas of a subscription's plans.
 *
 * Each meter of a subscription has one counter for each period. `countUsage.ts` increments the counters of all requested
 * meters, and takes from all rate limits, in one atomic commit. Each change carries its limit; if one would exceed it,
 * the store rejects the whole commit, nothing is counted or taken, and the call fails with `QuotaExceeded` or
 * `RateLimited`.
 *
 * The commit also checks that bucket, subscription and plans have not changed since they were read. This allows the
 * service to cache them: usually a call needs only this one commit. The record of the customer changes with each of its
 * subscriptions, so the subscriptions that a customer has are checked by it alone.
 */

import {
  alwaysConflicts,
  BoundedMap,
  type CommitResult,
  type HotPath,
  isStale,
  matchEffectEager,
  type Once,
  Partition,
  retryOnConflict,
  runInFiber,
  SecretBox,
  Store,
  TrustedClock,
  withSafeSpan
} from "@tollgate/store/internal"
import { Context, Effect, Layer } from "effect"
import { implementOperations, makeRunRequest } from "../../api/implementOperations.ts"
import type { Operations } from "../../api/Operations.ts"
import type { WithRateLimits } from "../../api/withRateLimits.ts"
import { DueWork } from "../../jobs/DueWork.ts"
import { readSettledCustomer, readSettledEntitlement } from "../credits/settleCredit.ts"
import { UseRecorder } from "../groups/UseRecorder.ts"
import { readSettledQuotas } from "../ledger/readQuotas.ts"
import { ledgerRecords } from "../ledger/usageRecords.ts"
import { type CustomerEntitlements, featuresAt, readEntitlement } from "../model/customerEntitlements.ts"
import * as Entitlement from "../model/Entitlement.ts"
import { MissingFeature } from "../model/FeatureError.ts"
import { findMissingFeatures } from "../model/Features.ts"
import type { MeteringBucketNotFound } from "../model/MeteringBucketError.ts"
import { findMeteringBucket, meteringBucketRecords } from "../model/meteringBucketRecords.ts"
import { type Amounts, makeQuota, type Quotas } from "../model/Quota.ts"
import { ReservationLimit } from "../model/ReservationError.ts"
import { getUsageId, type StoredReservation } from "../model/reservationRecords.ts"
import { getPeriodId } from "../model/reservedPeriods.ts"
import type { SubscriptionNotFound } from "../model/SubscriptionError.ts"
import { getUsedCounter } from "../model/usageCounters.ts"
import { type QuotaMethods, SubscriptionsApi } from "../subscriptions/SubscriptionsApi.ts"
import { type ConsumedMeters, type ConsumeResult, toPolicies } from "./ConsumeResult.ts"
import { type CountReceipt, receiptCodec, toQuotas } from "./CountReceipt.ts"
import type { CountRequest } from "./CountRequest.ts"
import { type CommitInMeteringBucket, makeCommitInMeteringBucket } from "./commitInMeteringBucket.ts"
import { type CommitCount, type CountError, makeCountUsage } from "./countUsage.ts"
import { QuotaThresholds } from "./QuotaThresholds.ts"
import { makeRecordEvents } from "./recordEvents.ts"
import { type SubscriptionRefusal, toRecordingError } from "./SubscriptionRefusal.ts"
import { UsageApi, type UsageMethods } from "./UsageApi.ts"

/** Maximum size of each of the two caches, in bytes. */
const maxCacheBytes = 16 * 1024 * 1024

const estimateCustomerSize = ({ entitlements }: CustomerEntitlements, key: string): number =>
  entitlements.reduce((sum, entitlement) => sum + Entitlement.estimateSize(entitlement), 500 + 2 * key.length)

const noEvents = { accepted: 0, duplicates: 0, rejected: [] }

interface Tagged {
  readonly _tag: string
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const quotaThresholds = yield* QuotaThresholds
  const trustedClock = yield* TrustedClock
  const withStore = Effect.provideService(Store, store)
  const useRecorder = yield* UseRecorder
  const counting = makeCountUsage({ store, quotaThresholds, trustedClock, useRecorder })
  const { count, reportSettled, lookAtAlerts, isAwaited } = counting
  const runRequest = makeRunRequest(store, secretBox)
  const customerCache = new BoundedMap<string, CustomerEntitlements>(maxCacheBytes, estimateCustomerSize)
  const entitlementCache = new BoundedMap<string, Entitlement.Entitlement>(maxCacheBytes, Entitlement.estimateSize)

  /** Counts usage against the customer's newest subscription that allows usage and has all the meters. */
  const countForNewestMatch = <E extends Tagged>(
    bucketId: string,
    customer: CustomerEntitlements,
    request: CountRequest,
    hotPath: HotPath,
    commitOnce: CommitCount<E> | undefined
  ): Effect.Effect<ConsumeResult | SubscriptionRefusal, CountError | MissingFeature | E> => {
    const now = trustedClock.read(hotPath.clock)
    // `findUsable`, without a call more on the hot path.
    let newest: Entitlement.Entitlement | undefined
    let chosen: Entitlement.Entitlement | undefined
    for (const entitlement of customer.entitlements) {
      const { canConsume, meters } = Entitlement.limitsAt(entitlement, now)
      if (!canConsume) continue
      // A customer may have several subscriptions with different meters, for example a plan and an add-on.
      let hasMeters = true
      for (const meter in request.amounts) hasMeters &&= meters.has(meter)
      newest ??= entitlement
      if (!hasMeters) continue
      chosen = entitlement
      break
    }
    // No subscription has all the meters: the newest one fails with `UnknownMeter`.
    chosen ??= newest
    if (chosen === undefined)
      return Effect.succeed(customer.total === 0 ? "no-subscription" : "subscription-not-active")
    const features = customer.hasFeatures ? featuresAt(customer, now) : undefined
    const missing = request.requiredFeatures && findMissingFeatures(request.requiredFeatures, features)
    if (missing !== undefined && missing.length > 0) return Effect.fail(new MissingFeature({ features: missing }))
    return count(bucketId, chosen, features === undefined ? request : { ...request, features }, hotPath, commitOnce)
  }

  /** Whether only the ledger has changed, which another process has written: the entitlement is current. */
  const isLedgerStale = (error: unknown): boolean =>
    isStale(error) && error.subject.startsWith(ledgerRecords.recordKey(""))

  /**
   * Cached data may allow usage but never deny it: it may be outdated, so Tollgate reads again before it refuses. If the
   * commit itself was refused because of a quota or a rate limit, the data is current: its preconditions are checked first.
   */
  const shouldRetryWithCurrentData = (error: Tagged): boolean =>
    isStale(error) || ["UnknownMeter", "SubscriptionNotActive", "MissingFeature"].includes(error._tag)

  /** Counts usage for a subscription, first with the cached entitlement, then with the current one. */
  const countForSubscription = <E extends Tagged = never>(
    bucketId: string,
    subscriptionId: string,
    request: CountRequest,
    hotPath: HotPath,
    commitOnce?: CommitCount<E>
  ): Effect.Effect<ConsumeResult, SubscriptionCountError | E> => {
    const cacheKey = `${bucketId} ${subscriptionId}`
    const retryWithCurrentData = () =>
      retryOnConflict(
        Effect.flatMap(
          // Each attempt as of its own time: what made it due may have happened since.
          Effect.suspend(() => readSettledEntitlement(bucketId, subscriptionId, trustedClock.read(hotPath.clock))),
          (entitlement) => {
            entitlementCache.set(cacheKey, entitlement)
            return Effect.andThen(
              lookAtAlerts(entitlement.alerts),
              Effect.suspend(() => count(bucketId, entitlement, request, hotPath, commitOnce))
            )
          }
        )
      ).pipe(withStore)
    const cached = entitlementCache.get(cacheKey)
    if (cached === undefined) return retryWithCurrentData()
    return Effect.catchEager(
      Effect.catchEager(count(bucketId, cached, request, hotPath, commitOnce), (error) =>
        isLedgerStale(error) ? count(bucketId, cached, request, hotPath, commitOnce) : Effect.fail(error)
      ),
      (error): Effect.Effect<ConsumeResult, SubscriptionCountError | E> =>
        shouldRetryWithCurrentData(error) ? retryWithCurrentData() : Effect.fail(error)
    )
  }

  /** Counts usage for a customer, first with the cached entitlements, then with the current ones. */
  const countForCustomer = <E extends Tagged = never>(
    accountName: string,
    bucketId: string,
    customerKey: string,
    request: CountRequest,
    hotPath: HotPath,
    commitOnce?: CommitCount<E>
  ): Effect.Effect<ConsumeResult | SubscriptionRefusal, CustomerCountError | E> => {
    // The key contains the account, so that a cached customer is never used for a different account.
    const cacheKey = `${accountName} ${bucketId} ${customerKey}`
    const retryWithCurrentData = () =>
      retryOnConflict(
        Effect.flatMap(
          Effect.suspend(() =>
            readSettledCustomer(accountName, bucketId, customerKey, trustedClock.read(hotPath.clock))
          ),
          (customer) => {
            customerCache.set(cacheKey, customer)
            return Effect.andThen(
              lookAtAlerts(customer.alerts),
              Effect.suspend(() => countForNewestMatch(bucketId, customer, request, hotPath, commitOnce))
            )
          }
        )
      ).pipe(withStore)
    const cached = customerCache.get(cacheKey)
    if (cached === undefined) return retryWithCurrentData()
    return matchEffectEager(
      Effect.catchEager(countForNewestMatch(bucketId, cached, request, hotPath, commitOnce), (error) =>
        isLedgerStale(error) ? countForNewestMatch(bucketId, cached, request, hotPath, commitOnce) : Effect.fail(error)
      ),
      (error) => (shouldRetryWithCurrentData(error) ? retryWithCurrentData() : Effect.fail(error)),
      (outcome) => (typeof outcome === "string" ? retryWithCurrentData() : Effect.succeed(outcome))
    )
  }

  /** Counts usage of one or more meters atomically. Returns what remains of them. */
  const consumeOnHotPath = <E extends Tagged = never>(
    bucketId: string,
    subscriptionId: string,
    amounts: Amounts,
    hotPath: HotPath,
    commitOnce?: CommitCount<E>
  ): Effect.Effect<ConsumedMeters, Exclude<SubscriptionCountError, ReservationLimit> | E> => {
    const request = { amounts, rateLimitTakes: [], kind: "consume" } as const
    return Effect.catchEager(
      countForSubscription(bucketId, subscriptionId, request, hotPath, commitOnce),
      // Reserving alone is limited.
      (error: SubscriptionCountError | E) =>
        error instanceof ReservationLimit
          ? Effect.die(error)
          : Effect.fail(error as Exclude<SubscriptionCountError, ReservationLimit> | E)
    )
  }

  const consumeMeters = <E extends Tagged = never>(
    bucketId: string,
    subscriptionId: string,
    amounts: Amounts,
    commitOnce?: CommitCount<E>
  ) =>
    runInFiber(store, (hotPath) => consumeOnHotPath(bucketId, subscriptionId, amounts, hotPath, commitOnce)).pipe(
      withSafeSpan("tollgate.subscriptions.consume")
    )

  const recordEvents = makeRecordEvents({
    store,
    trustedClock,
    dueWork: yield* DueWork,
    countForCustomer,
    reportSettled
  })

  const reportSettledRequest: Usage["Service"]["reportSettledRequest"] = (bucketId, reservation) => {
    const { subscriptionId } = reservation
    const usageId = getUsageId(reservation)
    const counters = Object.keys(reservation.meters).map((meter) =>
      getUsedCounter(usageId, meter, getPeriodId(reservation, meter))
    )
    if (!counters.some(isAwaited)) return Effect.void
    return Effect.gen(function* () {
      const entitlement = yield* readEntitlement(bucketId, subscriptionId)
      const limits = Entitlement.limitsIn(entitlement, reservation)
      const values = yield* store.counters(Partition.forMeteringBucket(bucketId), counters)
      const usage = Object.keys(reservation.meters).map(
        (meter, index) => [meter, makeQuota(limits.meters.get(meter)?.max ?? 0, values[index])] as const
      )
      yield* reportSettled(bucketId, entitlement, limits, Object.fromEntries(usage))
    }).pipe(
      withStore,
      Effect.catchCause((cause) => Effect.logDebug("Looking for reached thresholds failed", cause))
    )
  }

  return Usage.of({
    ...implementOperations(SubscriptionsApi, { store })({
      quotas: Effect.fnUntraced(function* ({ params: { bucketId, subscriptionId } }) {
        return yield* readSettledQuotas(bucketId, subscriptionId, yield* trustedClock.now)
      })
    }),

    ...implementOperations(UsageApi, { store, secretBox })({
      record: Effect.fnUntraced(function* ({ params: { bucketId }, payload: { customerKey, meters, labels } }, once) {
        const toResult = (receipt: CountReceipt, commitResult: CommitResult) => toQuotas(meters, receipt, commitResult)
        const commitOnce = once(Partition.forMeteringBucket(bucketId), toResult, receiptCodec)
        const { accountName } = (yield* findMeteringBucket(bucketId)).value
        const usedBy = labels && { labels }
        const request = { amounts: meters, rateLimitTakes: [], kind: "record", usedBy } as const
        const result = yield* runInFiber(store, (hotPath) =>
          countForCustomer(accountName, bucketId, customerKey, request, hotPath, commitOnce)
        ).pipe(Effect.catchTags({ RateLimited: Effect.die, ReservationLimit: Effect.die, MissingFeature: Effect.die }))
        return typeof result === "string" ? yield* toRecordingError(result, customerKey) : result.quotas
      }),

      recordEvents: Effect.fnUntraced(function* (
        { params: { bucketId }, headers: { idempotencyKey } = {}, payload },
        once
      ) {
        const commitOnce = once(Partition.forMeteringBucket(bucketId))
        const { accountName } = (yield* findMeteringBucket(bucketId)).value
        if (idempotencyKey === undefined) return yield* recordEvents(accountName, bucketId, payload)
        // A key that was used for other events is refused before anything is counted.
        yield* Effect.catchIf(commitOnce([alwaysConflicts], noEvents), isStale, () => Effect.void)
        const result = yield* recordEvents(accountName, bucketId, payload)
        const remember = Effect.flatMap(findMeteringBucket(bucketId), (bucketEntry) =>
          commitOnce([meteringBucketRecords.assertUnchanged(bucketEntry)], result)
        )
        yield* retryOnConflict(remember)
        return result
      })
    }),

    // Not `implementOperations`: this is a hot path, which usually needs the store only through `commit`.
    consume: ({ params, headers = {}, payload: { meters } }) => {
      const { bucketId, subscriptionId } = params
      const toResult = (receipt: CountReceipt, commitResult: CommitResult) => ({
        value: toQuotas(meters, receipt, commitResult),
        policies: []
      })
      return runRequest(
        "subscriptions.consume",
        { params, headers, payload: { meters } },
        Effect.fnUntraced(function* (once: Once<WithRateLimits<Quotas>>) {
          const commitOnce = once(Partition.forMeteringBucket(bucketId), toResult, receiptCodec)
          const consumed = yield* consumeMeters(bucketId, subscriptionId, meters, commitOnce)
          return { value: consumed.quotas, policies: toPolicies(consumed, (yield* trustedClock.now).epochMilliseconds) }
        })
      )
    },

    consumeMeters,
    consumeOnHotPath,
    countForSubscription,
    countForCustomer,
    commitInMeteringBucket: makeCommitInMeteringBucket(store),
    reportSettled,
    reportSettledRequest
  })
})

export type CustomerCountError = CountError | MeteringBucketNotFound | MissingFeature
export type SubscriptionCountError = CountError | MeteringBucketNotFound | SubscriptionNotFound

type UsageOperations = Pick<Operations<typeof SubscriptionsApi, QuotaMethods>, keyof QuotaMethods> &
  Pick<Operations<typeof UsageApi, UsageMethods>, "record" | "recordEvents">

/**
 * The operations that read quotas and count usage: `quotas`, `consume`, `record` and `recordEvents`. Each takes one `OperationRequest`.
 * The other functions serve `authorize` and take their arguments directly.
 */
export class Usage extends Context.Service<
  Usage,
  UsageOperations & {
    /** The operation `consume`, for callers that have validated their input. */
    readonly consumeMeters: (
      bucketId: string,
      subscriptionId: string,
      amounts: Amounts
    ) => Effect.Effect<ConsumedMeters, Exclude<SubscriptionCountError, ReservationLimit>>
    /** `consumeMeters` without a span, and without a fiber if the store answers at once. */
    readonly consumeOnHotPath: (
      bucketId: string,
      subscriptionId: string,
      amounts: Amounts,
      hotPath: HotPath
    ) => Effect.Effect<ConsumedMeters, Exclude<SubscriptionCountError, ReservationLimit>>
    /** Counts usage for a subscription. */
    readonly countForSubscription: <E extends Tagged = never>(
      bucketId: string,
      subscriptionId: string,
      request: CountRequest,
      hotPath: HotPath,
      commitOnce?: CommitCount<E>
    ) => Effect.Effect<ConsumeResult, SubscriptionCountError | E>
    /**
     * Counts usage for a customer, against the newest subscription that allows usage and has all the meters, and takes
     * from rate limits. Usually needs only one commit. Fails with `MeteringBucketNotFound` if the bucket belongs to
     * another account.
     */
    readonly countForCustomer: <E extends Tagged = never>(
      accountName: string,
      bucketId: string,
      customerKey: string,
      request: CountRequest,
      hotPath: HotPath,
      commitOnce?: CommitCount<E>
    ) => Effect.Effect<ConsumeResult | SubscriptionRefusal, CustomerCountError | E>
    /** Commits changes, such as takes from rate limits, in a metering bucket of an account. */
    readonly commitInMeteringBucket: CommitInMeteringBucket
    /** Reports the thresholds and alerts that are reached now that a reservation is settled. */
    readonly reportSettled: ReturnType<typeof makeCountUsage>["reportSettled"]
    /** The same for the reservation of a request. Reads the usage only if it is near a threshold, and never fails. */
    readonly reportSettledRequest: (bucketId: string, reservation: StoredReservation) => Effect.Effect<void>
  }
>()("@tollgate/core/metering/Usage") {
  static readonly layer = Layer.effect(Usage, make)
}
