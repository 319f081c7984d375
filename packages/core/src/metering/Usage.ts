/**
 * Counts use against the maxima of a subscription's plans: several meters, all or none, never over the maximum.
 */
import { Context, DateTime, Effect, Layer, Result, Schema } from "effect"
import { SecretBox } from "../crypto/SecretBox.ts"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import { TrustedClock } from "../runtime/TrustedClock.ts"
import { withSafeSpan } from "../runtime/withSafeSpan.ts"
import { Timestamp } from "../schema/Timestamp.ts"
import type { Idempotency } from "../store/Idempotency.ts"
import { type IdempotencyError, idempotentCommit } from "../store/Idempotency.ts"
import * as Partition from "../store/Partition.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { Change, type CommitResult, Store } from "../store/Store.ts"
import { StoreConflict, type StoreError, type StoreUnavailable } from "../store/StoreError.ts"
import { type CustomerEntitlements, plansOf, quotaFields, readEntitlements } from "./customerEntitlements.ts"
import * as Entitlement from "./Entitlement.ts"
import type { MeteringBucketNotFound } from "./MeteringBucket.ts"
import { findMeteringBucket, rootRecords } from "./meteringBucketRecords.ts"
import { type Amounts, type Quota, QuotaExceeded, type Quotas, SubscriptionNotActive, UnknownMeter } from "./Quota.ts"
import { QuotaThresholds, thresholdsReached } from "./QuotaThresholds.ts"
import { canConsume } from "./Subscription.ts"
import type { SubscriptionNotFound } from "./SubscriptionError.ts"
import { findSubscription } from "./subscriptionRecords.ts"
import * as Trial from "./Trial.ts"

/** A counter is kept a day longer than its period, for those whose clock is late. */
const counterGracePeriod = 24 * 60 * 60 * 1000

/** What is remembered of a use, for when it is repeated: in which period it was counted, and against what. */
const ConsumptionReceipt = Schema.Struct({
  periodStart: Timestamp,
  resetsOn: Timestamp,
  maxima: Schema.Record(Schema.String, Schema.Finite)
})
type ConsumptionReceipt = typeof ConsumptionReceipt.Type

const quotaOf = (max: number, used = 0) => ({ max, used, remaining: Math.max(0, max - used) })

/** What a consume answers, the first time and when it is replayed. */
const toQuotas = (
  subscriptionId: string,
  amounts: Amounts,
  { periodStart, resetsOn, maxima }: ConsumptionReceipt,
  { totals }: CommitResult
): Quotas => {
  const meters: Record<string, Quota> = {}
  for (const meter in amounts) {
    const counter = Entitlement.counterOf(subscriptionId, meter, periodStart)
    meters[meter] = quotaOf(maxima[meter] ?? 0, totals.get(counter))
  }
  return { meters, periodStart, resetsOn }
}

/** Bytes of what is remembered between calls of customers, and of subscriptions; and how many notified thresholds. */
const maxRemembered = 16 * 1024 * 1024
const maxNotified = 10_000

const weighCustomer = ({ entitlements }: CustomerEntitlements): number =>
  entitlements.reduce((sum, entitlement) => sum + Entitlement.weigh(entitlement), 500)

/** No subscription, or none that may consume. */
export type DenyReason = "no-subscription" | "subscription-not-active"

const make = Effect.gen(function* () {
  const store = yield* Store
  const vault = yield* SecretBox
  const watch = yield* QuotaThresholds
  const moments = yield* TrustedClock
  const withStore = Effect.provideService(Store, store)
  const usesOnce = idempotentCommit(store, vault, ConsumptionReceipt)
  const customers = new BoundedMap<string, CustomerEntitlements>(maxRemembered, weighCustomer)
  const entitlements = new BoundedMap<string, Entitlement.Entitlement>(maxRemembered, Entitlement.weigh)
  const notified = new BoundedMap<string, true>(maxNotified)

  const entitlementOf = Effect.fnUntraced(function* (bucketId: string, subscriptionId: string) {
    const root = yield* findMeteringBucket(bucketId)
    const found = yield* findSubscription(bucketId, subscriptionId)
    const plans = yield* plansOf(bucketId, found.value.planIds)
    return Entitlement.make({ root, subscription: { value: quotaFields(found.value), version: found.version }, plans })
  })

  /**
   * Tells the host what has been reached. Whoever sets the mark tells, and nobody else; what could not be marked is told
   * by the next that counts. Nothing of it stops the counting.
   */
  const notifyThresholds = Effect.fnUntraced(function* (
    bucketId: string,
    entitlement: Entitlement.Entitlement,
    { period, meters }: Entitlement.PeriodLimits,
    quotas: Quotas
  ) {
    const { root, subscription } = entitlement
    const { id: subscriptionId, customerKey } = subscription.value
    const ttl = DateTime.toEpochMillis(period.end) - DateTime.toEpochMillis(yield* moments.now) + counterGracePeriod
    for (const [meter, { max, used }] of Object.entries(quotas.meters)) {
      for (const threshold of thresholdsReached(watch.thresholds, used, max)) {
        const mark = `told:${meters.get(meter)?.counter}:${threshold}`
        if (notified.has(mark)) continue
        const marking = [rootRecords.assertUnchanged(root), Change.Add({ counter: mark, by: 1, max: 1, ttl })]
        const marked = yield* Effect.result(store.commit(Partition.metering(bucketId), marking))
        if (Result.isFailure(marked) && marked.failure._tag === "StoreUnavailable") {
          yield* Effect.logError(marked.failure.message)
          continue
        }
        notified.set(mark, true)
        if (Result.isFailure(marked)) continue
        const [periodStart, resetsOn] = [DateTime.formatIso(period.start), DateTime.formatIso(period.end)]
        yield* watch.notify({
          meteringBucketId: bucketId,
          subscriptionId,
          customerKey,
          meter,
          threshold,
          used,
          max,
          periodStart,
          resetsOn
        })
      }
    }
  })

  /** Counts, on the strength of what was read; a stale conflict says that it is so no longer. This is the hot path. */
  const consumeEntitlement = (
    bucketId: string,
    entitlement: Entitlement.Entitlement,
    amounts: Amounts,
    idempotency: Idempotency | undefined
  ): Effect.Effect<Quotas, CountingError> =>
    Effect.flatMap(moments.now, (now) => {
      const status = Trial.statusAt(entitlement.subscription.value, now)
      if (!canConsume(status)) return Effect.fail(new SubscriptionNotActive({ status }))
      const allowance = Entitlement.limitsAt(entitlement, now)
      const { period, meters } = allowance
      const ttl = DateTime.toEpochMillis(period.end) - DateTime.toEpochMillis(now) + counterGracePeriod
      const changes = [...entitlement.guards]
      const maxima: Record<string, number> = {}
      for (const meter in amounts) {
        const found = meters.get(meter)
        if (found === undefined) return Effect.fail(new UnknownMeter({ meter }))
        maxima[meter] = found.max
        changes.push(Change.Add({ counter: found.counter, by: amounts[meter] ?? 0, max: found.max, ttl }))
      }
      const counted: ConsumptionReceipt = { periodStart: period.start, resetsOn: period.end, maxima }
      const counting = usesOnce.commit(Partition.metering(bucketId), changes, idempotency, counted)
      return Effect.matchEffect(counting, {
        onFailure: (error): Effect.Effect<never, CountingError> => {
          if (!(error instanceof StoreConflict) || error.reason !== "exceeded") return Effect.fail(error)
          const [meter = "", { max } = { max: 0 }] =
            [...meters].find(([, { counter }]) => counter === error.subject) ?? []
          return Effect.fail(new QuotaExceeded({ meter, max, resetsOn: period.end }))
        },
        onSuccess: (committed) => {
          const { id } = entitlement.subscription.value
          const quotas = toQuotas(id, amounts, committed.previousResult ?? counted, committed)
          return committed.previousResult === undefined && watch.thresholds.length > 0
            ? Effect.as(notifyThresholds(bucketId, entitlement, allowance, quotas), quotas)
            : Effect.succeed(quotas)
        }
      })
    })

  const hasMeters = (entitlement: Entitlement.Entitlement, amounts: Amounts, now: DateTime.Utc): boolean => {
    const { meters } = Entitlement.limitsAt(entitlement, now)
    for (const meter in amounts) if (!meters.has(meter)) return false
    return true
  }

  /** Counts for a customer, on the strength of what is remembered, or of what is read anew. */
  const consumeByCustomer = (bucketId: string, { entitlements, total }: CustomerEntitlements, amounts: Amounts) =>
    Effect.flatMap(moments.now, (now): Effect.Effect<Quotas | DenyReason, CountingError> => {
      let newest: Entitlement.Entitlement | undefined
      for (const entitlement of entitlements) {
        if (!canConsume(Trial.statusAt(entitlement.subscription.value, now))) continue
        // A customer may have an add-on beside a plan: the newest subscription that has all the meters counts.
        if (hasMeters(entitlement, amounts, now)) return consumeEntitlement(bucketId, entitlement, amounts, undefined)
        newest ??= entitlement
      }
      if (newest !== undefined) return consumeEntitlement(bucketId, newest, amounts, undefined)
      return Effect.succeed(total === 0 ? "no-subscription" : "subscription-not-active")
    })

  const isStale = (error: unknown): boolean => error instanceof StoreConflict && error.reason === "stale"

  /** A refusal, or a sign that something has changed: what is remembered says nothing more. */
  const shouldReread = (error: { readonly _tag: string }): boolean =>
    isStale(error) || ["QuotaExceeded", "UnknownMeter", "SubscriptionNotActive"].includes(error._tag)

  /** Counts for a subscription, in one commit where nothing has changed since it was last read. */
  const consumeSubscription = (
    bucketId: string,
    subscriptionId: string,
    amounts: Amounts,
    idempotency: Idempotency | undefined
  ) => {
    const name = `${bucketId} ${subscriptionId}`
    const reread = () =>
      retryOnConflict(
        Effect.flatMap(entitlementOf(bucketId, subscriptionId), (entitlement) => {
          entitlements.set(name, entitlement)
          return consumeEntitlement(bucketId, entitlement, amounts, idempotency)
        })
      ).pipe(withStore)
    const known = entitlements.get(name)
    return known === undefined
      ? reread()
      : Effect.catchIf(consumeEntitlement(bucketId, known, amounts, idempotency), shouldReread, reread)
  }

  const consumeFor = (accountName: string, bucketId: string, customerKey: string, amounts: Amounts) => {
    // With the account: a bucket of another account is not found, however often it is asked for.
    const name = `${accountName} ${bucketId} ${customerKey}`
    const reread = () =>
      retryOnConflict(
        Effect.flatMap(readEntitlements(accountName, bucketId, customerKey), (customer) => {
          customers.set(name, customer)
          return consumeByCustomer(bucketId, customer, amounts)
        })
      ).pipe(withStore)
    const known = customers.get(name)
    if (known === undefined) return reread()
    // What says no may have changed: only a yes is given on the strength of what is remembered.
    return Effect.matchEffect(consumeByCustomer(bucketId, known, amounts), {
      onFailure: (error) => (shouldReread(error) ? reread() : Effect.fail(error)),
      onSuccess: (outcome) => (typeof outcome === "string" ? reread() : Effect.succeed(outcome))
    })
  }

  return Usage.of({
    quotas: Effect.fnUntraced(
      function* (bucketId, subscriptionId) {
        const entitlement = yield* entitlementOf(bucketId, subscriptionId)
        const { period, meters } = Entitlement.limitsAt(entitlement, yield* moments.now)
        const names = [...meters.values()].map(({ counter }) => counter)
        const values = yield* store.counters(Partition.metering(bucketId), names)
        const quotas = [...meters].map(([meter, { max }], index) => [meter, quotaOf(max, values[index])] as const)
        return { meters: Object.fromEntries(quotas), periodStart: period.start, resetsOn: period.end }
      },
      withStore,
      withSafeSpan("Usage.quotas")
    ),

    consume: (bucketId, subscriptionId, amounts, { idempotency } = {}) => {
      const attempt = consumeSubscription(bucketId, subscriptionId, amounts, idempotency)
      const again = (counted: ConsumptionReceipt, committed: CommitResult) =>
        toQuotas(subscriptionId, amounts, counted, committed)
      const partition = Partition.metering(bucketId)
      return usesOnce.recalling(partition, idempotency, again, attempt).pipe(withSafeSpan("Usage.consume"))
    },

    consumeFor
  })
})

type ConsumeError = MeteringBucketNotFound | UnknownMeter | SubscriptionNotActive | QuotaExceeded | IdempotencyError

type CountingError = Exclude<ConsumeError, MeteringBucketNotFound> | StoreConflict | StoreUnavailable

export class Usage extends Context.Service<
  Usage,
  {
    /** What a subscription has, and has used, in its period. */
    readonly quotas: (
      bucketId: string,
      subscriptionId: string
    ) => Effect.Effect<Quotas, StoreError | MeteringBucketNotFound | SubscriptionNotFound>
    /** Uses of several meters, all or none; gives what is left of them. */
    readonly consume: (
      bucketId: string,
      subscriptionId: string,
      amounts: Amounts,
      options?: { readonly idempotency?: Idempotency | undefined }
    ) => Effect.Effect<Quotas, StoreError | SubscriptionNotFound | ConsumeError>
    /**
     * The same for a customer's newest subscription that may consume and has all the meters. The hot path: one commit
     * where nothing changed. A bucket of another account is not found.
     */
    readonly consumeFor: (
      accountName: string,
      bucketId: string,
      customerKey: string,
      amounts: Amounts
    ) => Effect.Effect<Quotas | DenyReason, StoreError | ConsumeError>
  }
>()("@tollgate/core/metering/Usage") {
  static readonly layer = Layer.effect(Usage, make)
}
