/**
 * Counts usage against the quotas of a subscription's plans.
 *
 * Each meter of a subscription has one counter for each period. `countUsage.ts` increments the counters of all requested
 * meters, and takes from all rate limits, in one atomic commit. Each change carries its limit; if one would exceed it,
 * the store rejects the whole commit, nothing is counted or taken, and the call fails with `QuotaExceeded` or
 * `RateLimited`.
 *
 * The commit also checks that bucket, subscription and plans have not changed since they were read. This allows the
 * service to cache them: usually a call needs only this one commit.
 */
import { Context, DateTime, Effect, Layer } from "effect"
import { implementOperations, makeRunRequest } from "../../api/implementOperations.ts"
import type { Operations } from "../../api/Operations.ts"
import type { WithRateLimits } from "../../api/withRateLimits.ts"
import { SecretBox } from "../../crypto/SecretBox.ts"
import { BoundedMap } from "../../runtime/BoundedMap.ts"
import { matchEffectEager } from "../../runtime/matchEffectEager.ts"
import { TrustedClock } from "../../runtime/TrustedClock.ts"
import { withSafeSpan } from "../../runtime/withSafeSpan.ts"
import { type HotPath, runInFiber } from "../../store/HotPath.ts"
import type { Once } from "../../store/Idempotency.ts"
import * as Partition from "../../store/Partition.ts"
import { isStale, retryOnConflict } from "../../store/retryOnConflict.ts"
import { type CommitResult, Store } from "../../store/Store.ts"
import { giveBackExpired } from "../ledger/giveBackExpired.ts"
import { readUsage } from "../ledger/readUsage.ts"
import type { StoredReservation } from "../ledger/reservationRecords.ts"
import { ledgerRecords } from "../ledger/usageRecords.ts"
import { type CustomerEntitlements, readEntitlement, readEntitlements } from "../model/customerEntitlements.ts"
import * as Entitlement from "../model/Entitlement.ts"
import type { MeteringBucketNotFound } from "../model/MeteringBucketError.ts"
import { findMeteringBucket } from "../model/meteringBucketRecords.ts"
import { type Amounts, makeQuota, type Quotas } from "../model/Quota.ts"
import { SubscriptionNotActive } from "../model/QuotaError.ts"
import { ReservationLimit } from "../model/ReservationError.ts"
import { canConsume } from "../model/Subscription.ts"
import { SubscriptionNotFound } from "../model/SubscriptionError.ts"
import { getUsedCounter } from "../model/usageCounters.ts"
import { type QuotaMethods, SubscriptionsApi } from "../subscriptions/SubscriptionsApi.ts"
import { type ConsumedMeters, type ConsumeResult, getPolicies } from "./ConsumeResult.ts"
import { type CountReceipt, receiptCodec, toQuotas } from "./CountReceipt.ts"
import type { CountRequest } from "./CountRequest.ts"
import { type CommitInMeteringBucket, makeCommitInMeteringBucket } from "./commitInMeteringBucket.ts"
import { type CommitCount, type CountError, makeCountUsage } from "./countUsage.ts"
import { QuotaThresholds } from "./QuotaThresholds.ts"
import { UsageApi, type UsageMethods } from "./UsageApi.ts"

/** Maximum size of each of the two caches, in bytes. */
const maxCacheBytes = 16 * 1024 * 1024

const estimateCustomerSize = ({ entitlements }: CustomerEntitlements): number =>
  entitlements.reduce((sum, entitlement) => sum + Entitlement.estimateSize(entitlement), 500)

interface Tagged {
  readonly _tag: string
}

/** Why a customer may not use anything: it has no subscription, or none in a status that allows usage. */
export type SubscriptionRefusal = "no-subscription" | "subscription-not-active"

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const quotaThresholds = yield* QuotaThresholds
  const trustedClock = yield* TrustedClock
  const withStore = Effect.provideService(Store, store)
  const { count, reportSettled, isAwaited } = makeCountUsage({ store, quotaThresholds, trustedClock })
  const runRequest = makeRunRequest(store, secretBox)
  const customerCache = new BoundedMap<string, CustomerEntitlements>(maxCacheBytes, estimateCustomerSize)
  const entitlementCache = new BoundedMap<string, Entitlement.Entitlement>(maxCacheBytes, Entitlement.estimateSize)

  const hasMeters = ({ meters }: Entitlement.PeriodLimits, amounts: Amounts): boolean => {
    for (const meter in amounts) if (!meters.has(meter)) return false
    return true
  }

  /** Counts usage against the customer's newest subscription that allows usage and has all the meters. */
  const countForNewestMatch = <E extends Tagged>(
    bucketId: string,
    { entitlements, total }: CustomerEntitlements,
    request: CountRequest,
    hotPath: HotPath,
    commitOnce: CommitCount<E> | undefined
  ): Effect.Effect<ConsumeResult | SubscriptionRefusal, CountError | E> => {
    const now = trustedClock.read(hotPath.clock)
    let newest: Entitlement.Entitlement | undefined
    for (const entitlement of entitlements) {
      const limits = Entitlement.limitsAt(entitlement, now)
      if (!canConsume(limits.subscription.status)) continue
      // A customer may have several subscriptions with different meters, for example a plan and an add-on.
      if (hasMeters(limits, request.amounts)) return count(bucketId, entitlement, request, hotPath, commitOnce)
      newest ??= entitlement
    }
    // No subscription has all the meters: the newest one fails with `UnknownMeter`.
    if (newest !== undefined) return count(bucketId, newest, request, hotPath, commitOnce)
    return Effect.succeed(total === 0 ? "no-subscription" : "subscription-not-active")
  }

  /** Counts again if only the ledger has changed, which another process has written: the entitlement is current. */
  const retryOnStaleLedger = <A, E>(attempt: () => Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.catchEager(attempt(), (error) =>
      isStale(error) && error.subject.startsWith(ledgerRecords.recordKey("")) ? attempt() : Effect.fail(error)
    )

  /**
   * Cached data may allow usage but never deny it: it may be outdated, so Tollgate reads again before it refuses. If the
   * commit itself was refused because of a quota or a rate limit, the data is current: its preconditions are checked first.
   */
  const shouldRetryWithCurrentData = (error: Tagged): boolean =>
    isStale(error) || ["UnknownMeter", "SubscriptionNotActive"].includes(error._tag)

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
        Effect.flatMap(readEntitlement(bucketId, subscriptionId), (entitlement) => {
          entitlementCache.set(cacheKey, entitlement)
          return count(bucketId, entitlement, request, hotPath, commitOnce)
        })
      ).pipe(withStore)
    const cached = entitlementCache.get(cacheKey)
    return cached === undefined
      ? retryWithCurrentData()
      : Effect.catchEager(
          retryOnStaleLedger(() => count(bucketId, cached, request, hotPath, commitOnce)),
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
        Effect.flatMap(readEntitlements(accountName, bucketId, customerKey), (customer) => {
          customerCache.set(cacheKey, customer)
          return countForNewestMatch(bucketId, customer, request, hotPath, commitOnce)
        })
      ).pipe(withStore)
    const cached = customerCache.get(cacheKey)
    if (cached === undefined) return retryWithCurrentData()
    return matchEffectEager(
      retryOnStaleLedger(() => countForNewestMatch(bucketId, cached, request, hotPath, commitOnce)),
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

  /** The quotas of a subscription. Expired reservations are given back first. */
  const readQuotas = Effect.fnUntraced(function* (bucketId: string, subscriptionId: string) {
    const partition = Partition.forMeteringBucket(bucketId)
    const entitlement = yield* readEntitlement(bucketId, subscriptionId)
    const now = yield* trustedClock.now
    const { period, meters } = Entitlement.limitsAt(entitlement, now)
    const start = DateTime.toEpochMillis(period.start)
    const read = readUsage(partition, subscriptionId, [{ start, meters: [...meters.keys()] }])
    let usage = yield* read
    if ([...meters.keys()].some((meter) => usage.readHeld(meter, start) > 0)) {
      yield* giveBackExpired(bucketId, subscriptionId, now)
      usage = yield* read
    }
    const quotas = [...meters].map(([meter, { max }]) => {
      const used = usage.read(meter, start) + usage.readHeld(meter, start)
      return [meter, makeQuota(max, used)] as const
    })
    return { meters: Object.fromEntries(quotas), periodStart: period.start, resetsOn: period.end }
  })

  const reportSettledRequest: Usage["Service"]["reportSettledRequest"] = (bucketId, reservation) => {
    const { subscriptionId, periodStart } = reservation
    const counters = Object.keys(reservation.meters).map((meter) => getUsedCounter(subscriptionId, meter, periodStart))
    if (!counters.some(isAwaited)) return Effect.void
    return Effect.gen(function* () {
      const entitlement = yield* readEntitlement(bucketId, subscriptionId)
      const limits = Entitlement.limitsAt(entitlement, DateTime.makeUnsafe(periodStart))
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
      quotas: ({ params: { bucketId, subscriptionId } }) => readQuotas(bucketId, subscriptionId)
    }),

    ...implementOperations(UsageApi, { store, secretBox })({
      record: Effect.fnUntraced(function* ({ params: { bucketId }, payload: { customerKey, meters } }, once) {
        const toResult = (receipt: CountReceipt, commitResult: CommitResult) =>
          toQuotas(receipt.subscriptionId, meters, receipt, commitResult)
        const commitOnce = once(Partition.forMeteringBucket(bucketId), toResult, receiptCodec)
        const { accountName } = (yield* findMeteringBucket(bucketId)).value
        const request = { amounts: meters, rateLimitTakes: [], kind: "record" } as const
        const result = yield* runInFiber(store, (hotPath) =>
          countForCustomer(accountName, bucketId, customerKey, request, hotPath, commitOnce)
        ).pipe(Effect.catchTags({ RateLimited: Effect.die, ReservationLimit: Effect.die }))
        if (result === "no-subscription") {
          const detail = `The customer "${customerKey}" has no subscription in this metering bucket`
          return yield* new SubscriptionNotFound({ subscriptionId: "", detail })
        }
        if (result === "subscription-not-active") return yield* new SubscriptionNotActive({})
        return result.quotas
      })
    }),

    // Not `implementOperations`: this is a hot path, which usually needs the store only through `commit`.
    consume: ({ params, headers = {}, payload: { meters } }) => {
      const { bucketId, subscriptionId } = params
      const toResult = (receipt: CountReceipt, commitResult: CommitResult) => ({
        value: toQuotas(subscriptionId, meters, receipt, commitResult),
        policies: []
      })
      return runRequest(
        "subscriptions.consume",
        { params, headers, payload: { meters } },
        Effect.fnUntraced(function* (once: Once<WithRateLimits<Quotas>>) {
          const commitOnce = once(Partition.forMeteringBucket(bucketId), toResult, receiptCodec)
          const consumed = yield* consumeMeters(bucketId, subscriptionId, meters, commitOnce)
          return { value: consumed.quotas, policies: getPolicies(consumed, yield* trustedClock.now) }
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

export type CustomerCountError = CountError | MeteringBucketNotFound
export type SubscriptionCountError = CustomerCountError | SubscriptionNotFound

type UsageOperations = Pick<Operations<typeof SubscriptionsApi, QuotaMethods>, keyof QuotaMethods> &
  Pick<Operations<typeof UsageApi, UsageMethods>, "record">

/**
 * The operations that read quotas and count usage: `quotas`, `consume` and `record`. Each takes one `OperationRequest`.
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
    readonly countForCustomer: (
      accountName: string,
      bucketId: string,
      customerKey: string,
      request: CountRequest,
      hotPath: HotPath
    ) => Effect.Effect<ConsumeResult | SubscriptionRefusal, CustomerCountError>
    /** Commits changes, such as takes from rate limits, in a metering bucket of an account. */
    readonly commitInMeteringBucket: CommitInMeteringBucket
    /** Reports the thresholds that are reached now that a reservation is settled. */
    readonly reportSettled: ReturnType<typeof makeCountUsage>["reportSettled"]
    /** The same for the reservation of a request. Reads the usage only if it is near a threshold, and never fails. */
    readonly reportSettledRequest: (bucketId: string, reservation: StoredReservation) => Effect.Effect<void>
  }
>()("@tollgate/core/metering/Usage") {
  static readonly layer = Layer.effect(Usage, make)
}
