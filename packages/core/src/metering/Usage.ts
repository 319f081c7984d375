/**
 * Counts usage against the quotas of a subscription's plans.
 *
 * Each meter of a subscription has one counter for each period. `countOnEntitlement` increments the counters of all
 * requested meters, and takes from all rate limits, in one atomic commit. Each change carries its limit; if one would
 * exceed it, the store rejects the whole commit, nothing is counted or taken, and the call fails with `QuotaExceeded` or
 * `RateLimited`.
 *
 * The commit also checks that bucket, subscription and plans have not changed since they were read. This allows the
 * service to cache them: usually a call needs only this one commit.
 */
import { Context, DateTime, Effect, Layer, Schema } from "effect"
import { implementOperations, withInProcessIdempotency } from "../api/implementOperations.ts"
import type { Operations } from "../api/Operations.ts"
import { SecretBox } from "../crypto/SecretBox.ts"
import type { RateLimited } from "../rateLimits/RateLimitError.ts"
import { type RateLimitTake, toRateLimited, toStatuses } from "../rateLimits/RateLimitTake.ts"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import { TrustedClock } from "../runtime/TrustedClock.ts"
import { withSafeSpan } from "../runtime/withSafeSpan.ts"
import { Timestamp } from "../schema/Timestamp.ts"
import { CurrentIdempotency, type Idempotency, makeIdempotentCommits } from "../store/Idempotency.ts"
import type { IdempotencyError } from "../store/IdempotencyError.ts"
import * as Partition from "../store/Partition.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { Change, type CommitResult, Store } from "../store/Store.ts"
import { StoreConflict, type StoreError, type StoreUnavailable } from "../store/StoreError.ts"
import {
  type ConsumedMeters,
  type ConsumeResult,
  toPolicies,
  toQuotaPolicy,
  toUsedSubscription
} from "./ConsumeResult.ts"
import { type CustomerEntitlements, keepQuotaFields, readEntitlements, readPlans } from "./customerEntitlements.ts"
import * as Entitlement from "./Entitlement.ts"
import type { MeteringBucketNotFound } from "./MeteringBucketError.ts"
import { findMeteringBucket } from "./meteringBucketRecords.ts"
import { makeNotifyThresholds } from "./notifyThresholds.ts"
import type * as Period from "./Period.ts"
import type { Amounts, Quota, Quotas } from "./Quota.ts"
import { QuotaExceeded, SubscriptionNotActive, UnknownMeter } from "./QuotaError.ts"
import { QuotaThresholds } from "./QuotaThresholds.ts"
import { canConsume } from "./Subscription.ts"
import type { SubscriptionNotFound } from "./SubscriptionError.ts"
import { SubscriptionsApi, type UsageMethods } from "./SubscriptionsApi.ts"
import { findSubscription } from "./subscriptionRecords.ts"
import * as Trial from "./Trial.ts"

/** Stored for replays of an idempotent `consume`: the period in which the usage was counted, and the limits. */
const ConsumptionReceipt = Schema.Struct({
  periodStart: Timestamp,
  resetsOn: Timestamp,
  maxima: Schema.Record(Schema.String, Schema.Finite)
})
type ConsumptionReceipt = typeof ConsumptionReceipt.Type

const makeQuota = (max: number, used = 0) => ({ max, used, remaining: Math.max(0, max - used) })

/** The result of a `consume`, for the first call and for replays. */
const toQuotas = (
  subscriptionId: string,
  amounts: Amounts,
  { periodStart, resetsOn, maxima }: ConsumptionReceipt,
  { totals }: CommitResult
): Quotas => {
  const meters: Record<string, Quota> = {}
  for (const meter in amounts) {
    const counter = Entitlement.getCounterName(subscriptionId, meter, periodStart)
    meters[meter] = makeQuota(maxima[meter] ?? 0, totals.get(counter))
  }
  return { meters, periodStart, resetsOn }
}

const toQuotaPeriod = ({ start, end }: Period.Period) => ({
  start: DateTime.toEpochMillis(start),
  end: DateTime.toEpochMillis(end)
})

/** Maximum size of each of the two caches, in bytes. */
const maxCacheBytes = 16 * 1024 * 1024

const estimateCustomerSize = ({ entitlements }: CustomerEntitlements): number =>
  entitlements.reduce((sum, entitlement) => sum + Entitlement.estimateSize(entitlement), 500)

/** What a request asks for: amounts of meters, and rate limits beside those of the plans. */
export interface ConsumeRequest {
  readonly amounts: Amounts
  readonly rateLimitTakes: ReadonlyArray<RateLimitTake>
}

/** Why a customer may not use anything: it has no subscription, or none in a status that allows usage. */
export type SubscriptionRefusal = "no-subscription" | "subscription-not-active"

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const quotaThresholds = yield* QuotaThresholds
  const trustedClock = yield* TrustedClock
  const withStore = Effect.provideService(Store, store)
  const idempotentConsume = makeIdempotentCommits(store, secretBox, ConsumptionReceipt)
  const customerCache = new BoundedMap<string, CustomerEntitlements>(maxCacheBytes, estimateCustomerSize)
  const entitlementCache = new BoundedMap<string, Entitlement.Entitlement>(maxCacheBytes, Entitlement.estimateSize)
  const notifyThresholds = makeNotifyThresholds({ store, quotaThresholds, trustedClock })

  const readEntitlement = Effect.fnUntraced(function* (bucketId: string, subscriptionId: string) {
    const bucketEntry = yield* findMeteringBucket(bucketId)
    const { value, version } = yield* findSubscription(bucketId, subscriptionId)
    const plans = yield* readPlans(bucketId, value.planIds)
    return Entitlement.make({ bucketEntry, subscription: { value: keepQuotaFields(value), version }, plans })
  })

  /**
   * Counts usage against an entitlement, in one commit. Fails with `QuotaExceeded` if a counter would exceed its limit,
   * and with a stale `StoreConflict` if the entitlement is outdated. This is the hot path.
   */
  const countOnEntitlement = (
    bucketId: string,
    entitlement: Entitlement.Entitlement,
    { amounts, rateLimitTakes }: ConsumeRequest,
    idempotency: Idempotency | undefined
  ): Effect.Effect<ConsumeResult, CounterError> =>
    Effect.flatMap(trustedClock.now, (now) => {
      const status = Trial.statusAt(entitlement.subscription.value, now)
      if (!canConsume(status)) return Effect.fail(new SubscriptionNotActive({ subscriptionStatus: status }))
      const limits = Entitlement.limitsAt(entitlement, now)
      const { period, meters } = limits
      const ttl = Entitlement.getCounterTtl(period, now)
      const partition = Partition.forMeteringBucket(bucketId)
      const takes =
        rateLimitTakes.length === 0 ? entitlement.rateLimitTakes : [...rateLimitTakes, ...entitlement.rateLimitTakes]
      // Rate limits are judged before quotas.
      const changes = [...entitlement.preconditions, ...takes.map(({ change }) => change)]
      const maxByMeter: Record<string, number> = {}
      for (const meter in amounts) {
        const meterLimit = meters.get(meter)
        if (meterLimit === undefined) return Effect.fail(new UnknownMeter({ meter }))
        const { max, counter } = meterLimit
        maxByMeter[meter] = max
        changes.push(Change.Add({ counter, by: amounts[meter] ?? 0, max, ttl }))
      }
      const receipt: ConsumptionReceipt = { periodStart: period.start, resetsOn: period.end, maxima: maxByMeter }
      const subscription = toUsedSubscription(entitlement.subscription.value, status)
      return Effect.matchEffect(idempotentConsume.commit(partition, changes, idempotency, receipt), {
        onFailure: (error): Effect.Effect<never, CounterError> => {
          if (!(error instanceof StoreConflict)) return Effect.fail(error)
          if (error.reason === "rate-limited") return Effect.fail(toRateLimited(takes, error) ?? error)
          if (error.reason !== "counter-exceeded") return Effect.fail(error)
          return failWithQuotaExceeded(partition, limits, error.subject, amounts, now)
        },
        onSuccess: (commitResult) => {
          const { previousResult } = commitResult
          const quotas = toQuotas(subscription.id, amounts, previousResult ?? receipt, commitResult)
          if (previousResult !== undefined) return Effect.succeed({ subscription, quotas })
          const result = { subscription, quotas, rateLimits: toStatuses(takes, commitResult) }
          return quotaThresholds.thresholds.length > 0
            ? Effect.as(notifyThresholds(bucketId, entitlement, limits, quotas), result)
            : Effect.succeed(result)
        }
      })
    })

  /** Fails with what is left of the quota. Reads it, because the store does not say by how much a counter exceeds. */
  const failWithQuotaExceeded = (
    partition: Partition.Partition,
    { period, meters }: Entitlement.PeriodLimits,
    exceededCounter: string,
    amounts: Amounts,
    now: DateTime.Utc
  ): Effect.Effect<never, QuotaExceeded> => {
    const [meter = "", { max } = { max: 0 }] = [...meters].find(([, { counter }]) => counter === exceededCounter) ?? []
    const fail = (left: number) => {
      const remaining = Math.max(0, left)
      const policy = toQuotaPolicy(meter, { max, remaining }, toQuotaPeriod(period), DateTime.toEpochMillis(now))
      return Effect.fail(new QuotaExceeded({ meter, max, resetsOn: period.end, policy }))
    }
    if (amounts[meter] === 1) return fail(0)
    return Effect.matchEffect(store.counters(partition, [exceededCounter]), {
      onFailure: () => fail(0),
      onSuccess: ([used = 0]) => fail(max - used)
    })
  }

  const hasMeters = (entitlement: Entitlement.Entitlement, amounts: Amounts, now: DateTime.Utc): boolean => {
    const { meters } = Entitlement.limitsAt(entitlement, now)
    for (const meter in amounts) if (!meters.has(meter)) return false
    return true
  }

  /** Counts usage against the customer's newest subscription that allows usage and has all the meters. */
  const countForNewestMatch = (
    bucketId: string,
    { entitlements, total }: CustomerEntitlements,
    request: ConsumeRequest
  ) =>
    Effect.flatMap(trustedClock.now, (now): Effect.Effect<ConsumeResult | SubscriptionRefusal, CounterError> => {
      let newest: Entitlement.Entitlement | undefined
      for (const entitlement of entitlements) {
        if (!canConsume(Trial.statusAt(entitlement.subscription.value, now))) continue
        // A customer may have several subscriptions with different meters, for example a plan and an add-on.
        if (hasMeters(entitlement, request.amounts, now))
          return countOnEntitlement(bucketId, entitlement, request, undefined)
        newest ??= entitlement
      }
      // No subscription has all the meters: the newest one fails with `UnknownMeter`.
      if (newest !== undefined) return countOnEntitlement(bucketId, newest, request, undefined)
      return Effect.succeed(total === 0 ? "no-subscription" : "subscription-not-active")
    })

  const isStale = (error: unknown): boolean => error instanceof StoreConflict && error.reason === "stale"

  /**
   * Cached data may allow usage but never deny it: it may be outdated, so Tollgate reads again before it refuses. If the
   * commit itself was refused because of a quota or a rate limit, the data is current: its preconditions are checked first.
   */
  const shouldRetryWithCurrentData = (error: { readonly _tag: string }): boolean =>
    isStale(error) || ["UnknownMeter", "SubscriptionNotActive"].includes(error._tag)

  /** Counts usage for a subscription, first with the cached entitlement, then with the current one. */
  const countForSubscription = (
    bucketId: string,
    subscriptionId: string,
    amounts: Amounts,
    idempotency: Idempotency | undefined
  ) => {
    const request = { amounts, rateLimitTakes: [] }
    const cacheKey = `${bucketId} ${subscriptionId}`
    const retryWithCurrentData = () =>
      retryOnConflict(
        Effect.flatMap(readEntitlement(bucketId, subscriptionId), (entitlement) => {
          entitlementCache.set(cacheKey, entitlement)
          return countOnEntitlement(bucketId, entitlement, request, idempotency)
        })
      ).pipe(withStore)
    const cached = entitlementCache.get(cacheKey)
    return cached === undefined
      ? retryWithCurrentData()
      : Effect.catchIf(
          countOnEntitlement(bucketId, cached, request, idempotency),
          shouldRetryWithCurrentData,
          retryWithCurrentData
        )
  }

  /** Counts usage for a customer, first with the cached entitlements, then with the current ones. */
  const consumeForCustomer = (accountName: string, bucketId: string, customerKey: string, request: ConsumeRequest) => {
    // The key contains the account, so that a cached customer is never used for a different account.
    const cacheKey = `${accountName} ${bucketId} ${customerKey}`
    const retryWithCurrentData = () =>
      retryOnConflict(
        Effect.flatMap(readEntitlements(accountName, bucketId, customerKey), (customer) => {
          customerCache.set(cacheKey, customer)
          return countForNewestMatch(bucketId, customer, request)
        })
      ).pipe(withStore)
    const cached = customerCache.get(cacheKey)
    if (cached === undefined) return retryWithCurrentData()
    return Effect.matchEffect(countForNewestMatch(bucketId, cached, request), {
      onFailure: (error) => (shouldRetryWithCurrentData(error) ? retryWithCurrentData() : Effect.fail(error)),
      onSuccess: (outcome) => (typeof outcome === "string" ? retryWithCurrentData() : Effect.succeed(outcome))
    })
  }

  /** Counts usage of one or more meters atomically. Returns what remains of them. */
  const consumeMeters: Usage["Service"]["consumeMeters"] = (bucketId, subscriptionId, amounts, idempotency) => {
    const attempt = countForSubscription(bucketId, subscriptionId, amounts, idempotency)
    const replay = (receipt: ConsumptionReceipt, commitResult: CommitResult) => ({
      quotas: toQuotas(subscriptionId, amounts, receipt, commitResult)
    })
    const partition = Partition.forMeteringBucket(bucketId)
    return idempotentConsume
      .replayIfFailed<ConsumedMeters, MeterError, never>(partition, idempotency, replay, attempt)
      .pipe(withSafeSpan("subscriptions.consume"))
  }

  return Usage.of({
    ...implementOperations(SubscriptionsApi, store, {
      quotas: Effect.fnUntraced(function* ({ params: { bucketId, subscriptionId } }) {
        const entitlement = yield* readEntitlement(bucketId, subscriptionId)
        const { period, meters } = Entitlement.limitsAt(entitlement, yield* trustedClock.now)
        const names = [...meters.values()].map(({ counter }) => counter)
        const values = yield* store.counters(Partition.forMeteringBucket(bucketId), names)
        const quotas = [...meters].map(([meter, { max }], index) => [meter, makeQuota(max, values[index])] as const)
        return { meters: Object.fromEntries(quotas), periodStart: period.start, resetsOn: period.end }
      })
    }),

    // Not `implementOperations`: this is a hot path, which usually needs the store only through `commit`.
    consume: ({ params, headers = {}, payload: { meters } }) => {
      const { bucketId, subscriptionId } = params
      const consumption = Effect.gen(function* () {
        const idempotency = yield* CurrentIdempotency
        const { quotas, rateLimits } = yield* consumeMeters(bucketId, subscriptionId, meters, idempotency)
        // A replay used nothing, so it has no limits to report.
        if (rateLimits === undefined) return { value: quotas, policies: [] }
        const { meters: counted, periodStart: start, resetsOn: end } = quotas
        const now = DateTime.toEpochMillis(yield* trustedClock.now)
        return { value: quotas, policies: toPolicies(rateLimits, counted, toQuotaPeriod({ start, end }), now) }
      })
      return withInProcessIdempotency("subscriptions.consume", { params, headers, payload: { meters } }, consumption)
    },

    consumeMeters,
    consumeForCustomer
  })
})

type ConsumeError =
  | MeteringBucketNotFound
  | UnknownMeter
  | SubscriptionNotActive
  | RateLimited
  | QuotaExceeded
  | IdempotencyError

type MeterError = StoreError | SubscriptionNotFound | ConsumeError

type CounterError = Exclude<ConsumeError, MeteringBucketNotFound> | StoreConflict | StoreUnavailable

type UsageOperations = Pick<Operations<typeof SubscriptionsApi, UsageMethods>, keyof UsageMethods>

export class Usage extends Context.Service<
  Usage,
  UsageOperations & {
    /** The operation `consume`, for callers that have validated their input: the hot path. */
    readonly consumeMeters: (
      bucketId: string,
      subscriptionId: string,
      amounts: Amounts,
      idempotency?: Idempotency
    ) => Effect.Effect<ConsumedMeters, MeterError>
    /**
     * Counts usage for a customer, against the newest subscription that allows usage and has all the meters, and takes
     * from rate limits. Usually needs only one commit. Fails with `MeteringBucketNotFound` if the bucket belongs to
     * another account.
     */
    readonly consumeForCustomer: (
      accountName: string,
      bucketId: string,
      customerKey: string,
      request: ConsumeRequest
    ) => Effect.Effect<ConsumeResult | SubscriptionRefusal, StoreError | ConsumeError>
  }
>()("@tollgate/core/metering/Usage") {
  static readonly layer = Layer.effect(Usage, make)
}
