/**
 * Counts use against the maxima of a subscription's plans: several meters, all or none, never over the maximum.
 */
import { Context, DateTime, Effect, Layer, Result, Schema } from "effect"
import { KeyVault } from "../keys/KeyVault.ts"
import type { Idempotency } from "../shared/Idempotency.ts"
import { commitOnce, type OnceError } from "../shared/Idempotency.ts"
import { Moments } from "../shared/Moments.ts"
import { spanned } from "../shared/spanned.ts"
import { Timestamp } from "../shared/Timestamp.ts"
import * as Contention from "../store/Contention.ts"
import * as Partition from "../store/Partition.ts"
import { Change, type Committed, Store } from "../store/Store.ts"
import { StoreConflict, type StoreFault } from "../store/StoreError.ts"
import { unchanged } from "../subscriptions/customerRecords.ts"
import { mayConsume } from "../subscriptions/Subscription.ts"
import type { SubscriptionNotFound } from "../subscriptions/SubscriptionError.ts"
import { findSubscription } from "../subscriptions/subscriptionRecords.ts"
import * as Trial from "../subscriptions/Trial.ts"
import type { BucketNotFound } from "./Bucket.ts"
import { findBucket, rootRecords } from "./bucketRecords.ts"
import { type Customer, plansOf, readCustomer, slim } from "./Customer.ts"
import { allowanceAt, type Entitlement, guards } from "./Entitlement.ts"
import type * as Period from "./Period.ts"
import { type Amounts, QuotaExceeded, type Quotas, SubscriptionNotActive, UnknownMeter } from "./Quota.ts"
import { QuotaWatch, reached } from "./QuotaWatch.ts"

/** A counter is kept a day longer than its period, for those whose clock is late. */
const grace = 24 * 60 * 60 * 1000

/** What is remembered of a use, for when it is repeated: in which period it was counted, and against what. */
const Counted = Schema.Struct({
  periodStart: Timestamp,
  resetsOn: Timestamp,
  maxima: Schema.Record(Schema.String, Schema.Finite)
})
type Counted = typeof Counted.Type

/** How many customers' subscriptions are remembered between calls. */
const remembered = 10_000

const counterOf = (subscriptionId: string, meter: string, { start }: Period.Period): string =>
  `usage:${subscriptionId}:${meter}:${DateTime.toEpochMillis(start)}`

/** No subscription, or none that may consume. */
export type NotEntitled = "no-subscription" | "subscription-not-active"

const make = Effect.gen(function* () {
  const store = yield* Store
  const vault = yield* KeyVault
  const watch = yield* QuotaWatch
  const moments = yield* Moments
  const withStore = Effect.provideService(Store, store)
  const usesOnce = commitOnce(store, vault, Counted)
  const customers = new Map<string, Customer>()
  const entitlements = new Map<string, Entitlement>()

  const told = new Set<string>()

  const entitlementOf = Effect.fnUntraced(function* (bucketId: string, subscriptionId: string) {
    const root = yield* findBucket(bucketId)
    const found = yield* findSubscription(bucketId, subscriptionId)
    const plans = yield* plansOf(bucketId, found.value.planIds)
    return { root, subscription: { value: slim(found.value), version: found.version }, plans } satisfies Entitlement
  })

  const quotasFrom = (
    used: ReadonlyMap<string, number>,
    maxima: ReadonlyMap<string, number>,
    period: Period.Period
  ): Quotas => ({
    meters: Object.fromEntries(
      [...used].map(([meter, count]) => {
        const max = maxima.get(meter) ?? 0
        return [meter, { max, used: count, remaining: Math.max(0, max - count) }]
      })
    ),
    periodStart: period.start,
    resetsOn: period.end
  })

  /**
   * Tells the host what has been reached. Whoever sets the mark tells, and nobody else; what could not be marked is told
   * by the next that counts. Nothing of it stops the counting.
   */
  const tell = Effect.fnUntraced(function* (bucketId: string, { root, subscription }: Entitlement, quotas: Quotas) {
    const { id: subscriptionId, customerKey } = subscription.value
    const period = { start: quotas.periodStart, end: quotas.resetsOn }
    const ttl = DateTime.toEpochMillis(period.end) - DateTime.toEpochMillis(yield* moments.now) + grace
    for (const [meter, { max, used }] of Object.entries(quotas.meters)) {
      for (const threshold of reached(watch.thresholds, used, max)) {
        const mark = `told:${counterOf(subscriptionId, meter, period)}:${threshold}`
        if (told.has(mark)) continue
        const marking = [rootRecords.unchanged(root), Change.Add({ counter: mark, by: 1, max: 1, ttl })]
        const marked = yield* Effect.result(store.commit(Partition.metering(bucketId), marking))
        if (Result.isFailure(marked) && marked.failure._tag === "StoreUnavailable") {
          yield* Effect.logError(marked.failure.message)
          continue
        }
        if (told.size >= remembered) told.clear()
        told.add(mark)
        if (Result.isFailure(marked)) continue
        const [periodStart, resetsOn] = [DateTime.formatIso(period.start), DateTime.formatIso(period.end)]
        yield* watch.notify({
          bucketId,
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

  /** What was answered to a use, from what is remembered of it. */
  const answered = (amounts: Amounts, { periodStart, resetsOn, maxima }: Counted, { totals }: Committed): Quotas =>
    quotasFrom(
      new Map(Object.keys(amounts).map((meter, index) => [meter, totals[index] ?? 0])),
      new Map(Object.entries(maxima)),
      { start: periodStart, end: resetsOn }
    )

  /** Counts, on the strength of what was read; a stale conflict says that it is so no longer. */
  const consumeWith = Effect.fnUntraced(function* (
    bucketId: string,
    entitlement: Entitlement,
    further: ReadonlyArray<Change>,
    amounts: Amounts,
    idempotency: Idempotency | undefined
  ) {
    const now = yield* moments.now
    const { id } = entitlement.subscription.value
    const status = Trial.statusAt(entitlement.subscription.value, now)
    if (!mayConsume(status)) return yield* new SubscriptionNotActive({ status })
    const { period, maxima } = allowanceAt(entitlement, now)
    const ttl = DateTime.toEpochMillis(period.end) - DateTime.toEpochMillis(now) + grace
    const adds: Array<Change> = []
    for (const [meter, by] of Object.entries(amounts)) {
      const max = maxima.get(meter)
      if (max === undefined) return yield* new UnknownMeter({ meter })
      adds.push(Change.Add({ counter: counterOf(id, meter, period), by, max, ttl }))
    }
    const counted: Counted = {
      periodStart: period.start,
      resetsOn: period.end,
      maxima: Object.fromEntries(Object.keys(amounts).map((meter) => [meter, maxima.get(meter) ?? 0]))
    }
    const changes = [...guards(entitlement), ...further, ...adds]
    const committed = yield* usesOnce.commit(Partition.metering(bucketId), changes, idempotency, counted).pipe(
      Effect.mapError((error) => {
        if (!(error instanceof StoreConflict) || error.reason !== "exceeded") return error
        const meter = Object.keys(amounts).find((name) => counterOf(id, name, period) === error.subject) ?? ""
        return new QuotaExceeded({ meter, max: maxima.get(meter) ?? 0, resetsOn: period.end })
      })
    )
    const quotas = answered(amounts, committed.earlier ?? counted, committed)
    if (committed.earlier === undefined && watch.thresholds.length > 0) yield* tell(bucketId, entitlement, quotas)
    return quotas
  })

  /** Counts for a customer, on the strength of what is remembered, or of what is read anew. */
  const consumeAs = Effect.fnUntraced(function* (bucketId: string, customer: Customer, amounts: Amounts) {
    const now = yield* moments.now
    const subscription = customer.subscriptions.find(({ value }) => mayConsume(Trial.statusAt(value, now)))
    if (subscription === undefined) {
      return customer.total === 0 ? ("no-subscription" as const) : ("subscription-not-active" as const)
    }
    const plans = subscription.value.planIds.flatMap((id) => customer.plans.get(id) ?? [])
    const entitlement = { root: customer.root, subscription, plans }
    return yield* consumeWith(bucketId, entitlement, [unchanged(customer.mark)], amounts, undefined)
  })

  const isOutdated = (error: unknown): boolean => error instanceof StoreConflict && error.reason === "stale"

  /** A refusal, or a sign that something has changed: what is remembered says nothing more. */
  const saysNo = (error: { readonly _tag: string }): boolean =>
    isOutdated(error) || ["QuotaExceeded", "UnknownMeter", "SubscriptionNotActive"].includes(error._tag)

  /** Counts for a subscription, in one commit where nothing has changed since it was last read. */
  const consumeOf = (
    bucketId: string,
    subscriptionId: string,
    amounts: Amounts,
    idempotency: Idempotency | undefined
  ) => {
    const name = `${bucketId} ${subscriptionId}`
    const fresh = Contention.retryWhenStale(
      Effect.flatMap(entitlementOf(bucketId, subscriptionId), (entitlement) => {
        if (entitlements.size >= remembered) entitlements.clear()
        entitlements.set(name, entitlement)
        return consumeWith(bucketId, entitlement, [], amounts, idempotency)
      })
    )
    const known = entitlements.get(name)
    return known === undefined
      ? fresh
      : Effect.catchIf(consumeWith(bucketId, known, [], amounts, idempotency), saysNo, () => fresh)
  }

  const consumeFor = Effect.fnUntraced(function* (bucketId: string, customerKey: string, amounts: Amounts) {
    const name = `${bucketId} ${customerKey}`
    const anew = Effect.gen(function* () {
      const customer = yield* readCustomer(bucketId, customerKey)
      if (customers.size >= remembered) customers.clear()
      customers.set(name, customer)
      return yield* consumeAs(bucketId, customer, amounts)
    })
    const known = customers.get(name)
    const fresh = Contention.retryWhenStale(anew)
    // What says no may have changed: only a yes is given on the strength of what is remembered.
    if (known === undefined) return yield* fresh
    const outcome = yield* Effect.catchIf(consumeAs(bucketId, known, amounts), saysNo, () =>
      Effect.succeed("outdated" as const)
    )
    return typeof outcome === "string" ? yield* fresh : outcome
  })

  return Usage.of({
    quotas: Effect.fnUntraced(
      function* (bucketId, subscriptionId) {
        const entitlement = yield* entitlementOf(bucketId, subscriptionId)
        const { id } = entitlement.subscription.value
        const { period, maxima } = allowanceAt(entitlement, yield* moments.now)
        const meters = [...maxima.keys()]
        const values = yield* store.counters(
          Partition.metering(bucketId),
          meters.map((meter) => counterOf(id, meter, period))
        )
        return quotasFrom(new Map(meters.map((meter, index) => [meter, values[index] ?? 0])), maxima, period)
      },
      withStore,
      spanned("Usage.quotas")
    ),

    consume: Effect.fnUntraced(
      function* (bucketId, subscriptionId, amounts, { idempotency } = {}) {
        const attempt = consumeOf(bucketId, subscriptionId, amounts, idempotency)
        const again = (counted: Counted, committed: Committed) => answered(amounts, counted, committed)
        const partition = Partition.metering(bucketId)
        return yield* usesOnce.recalling(partition, idempotency, again, attempt)
      },
      withStore,
      spanned("Usage.consume")
    ),

    consumeFor: (bucketId, customerKey, amounts) => withStore(consumeFor(bucketId, customerKey, amounts))
  })
})

type Refused = BucketNotFound | UnknownMeter | SubscriptionNotActive | QuotaExceeded | OnceError

export class Usage extends Context.Service<
  Usage,
  {
    /** What a subscription has, and has used, in its period. */
    readonly quotas: (
      bucketId: string,
      subscriptionId: string
    ) => Effect.Effect<Quotas, StoreFault | BucketNotFound | SubscriptionNotFound>
    /** Uses of several meters, all or none; gives what is left of them. */
    readonly consume: (
      bucketId: string,
      subscriptionId: string,
      amounts: Amounts,
      options?: { readonly idempotency?: Idempotency }
    ) => Effect.Effect<Quotas, StoreFault | SubscriptionNotFound | Refused>
    /** The same for a customer's newest subscription that may consume: the hot path, one commit where nothing changed. */
    readonly consumeFor: (
      bucketId: string,
      customerKey: string,
      amounts: Amounts
    ) => Effect.Effect<Quotas | NotEntitled, StoreFault | Refused>
  }
>()("@tollgate/core/metering/Usage") {
  static readonly layer = Layer.effect(Usage, make)
}
