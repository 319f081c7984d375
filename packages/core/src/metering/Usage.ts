/**
 * Counts use against the maxima of a subscription's plans: several meters, all or none, never over the maximum.
 */
import { Clock, Context, DateTime, Effect, Layer, Schema } from "effect"
import { KeyVault } from "../keys/KeyVault.ts"
import type { StoredPlan } from "../plans/Plan.ts"
import { planRecords } from "../plans/planRecords.ts"
import type { Idempotency } from "../shared/Idempotency.ts"
import { commitOnce, type OnceError } from "../shared/Idempotency.ts"
import { Timestamp } from "../shared/Timestamp.ts"
import type { Entry } from "../store/Collection.ts"
import * as Contention from "../store/Contention.ts"
import * as Partition from "../store/Partition.ts"
import { Change, Store } from "../store/Store.ts"
import { StoreConflict, type StoreFault } from "../store/StoreError.ts"
import { mayConsume, type StoredSubscription } from "../subscriptions/Subscription.ts"
import type { SubscriptionNotFound } from "../subscriptions/SubscriptionError.ts"
import { findSubscription, ofCustomer, subscriptionRecords } from "../subscriptions/subscriptionRecords.ts"
import * as Trial from "../subscriptions/Trial.ts"
import type { Bucket, BucketNotFound } from "./Bucket.ts"
import { findBucket } from "./bucketRecords.ts"
import { type Entitlement, guards, maximaIn } from "./Entitlement.ts"
import * as Period from "./Period.ts"
import { type Amounts, QuotaExceeded, type Quotas, SubscriptionNotActive, UnknownMeter } from "./Quota.ts"
import { crossed, QuotaWatch } from "./QuotaWatch.ts"

/** A counter is kept a day longer than its period, for those whose clock is late. */
const grace = 24 * 60 * 60 * 1000

/** What is remembered of a use, for when it is repeated: in which period it was counted. */
const Counted = Schema.Struct({ periodStart: Timestamp })

/** How many of a customer's subscriptions are looked at, from the newest. */
const newestLookedAt = 20

/** How many customers' subscriptions are remembered between calls. */
const remembered = 10_000

const counterOf = (subscriptionId: string, meter: string, { start }: Period.Period): string =>
  `usage:${subscriptionId}:${meter}:${DateTime.toEpochMillis(start)}`

/** No subscription, or none that may consume. */
export type NotEntitled = "no-subscription" | "subscription-not-active"

/** A customer's subscriptions as they were read, newest first, with their plans. */
interface Customer {
  readonly root: Entry<Bucket>
  readonly subscriptions: ReadonlyArray<Entry<StoredSubscription>>
  readonly plans: ReadonlyMap<string, Entry<StoredPlan>>
  readonly total: number
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const vault = yield* KeyVault
  const watch = yield* QuotaWatch
  const withStore = Effect.provideService(Store, store)
  const usesOnce = commitOnce(store, vault, Counted)
  const customers = new Map<string, Customer>()

  // The latest moment that this process has seen: a clock that is set back brings no earlier period back.
  let latest = Number.NEGATIVE_INFINITY
  const moment = Effect.map(Clock.currentTimeMillis, (now) => {
    latest = Math.max(latest, now)
    return DateTime.makeUnsafe(latest)
  })

  const plansOf = Effect.fnUntraced(function* (bucketId: string, planIds: ReadonlyArray<string>) {
    const records = yield* store.get(Partition.metering(bucketId), planIds.map(planRecords.keyOf))
    return yield* Effect.forEach(
      records.filter((record) => record !== undefined),
      planRecords.decode
    )
  })

  const entitlementOf = Effect.fnUntraced(function* (bucketId: string, subscriptionId: string) {
    const root = yield* findBucket(bucketId)
    const subscription = yield* findSubscription(bucketId, subscriptionId)
    return { root, subscription, plans: yield* plansOf(bucketId, subscription.value.planIds) } satisfies Entitlement
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

  /** Tells the host what was reached. What has been told is marked afterwards, so that it is told at least once. */
  const tell = Effect.fnUntraced(function* (
    bucketId: string,
    { subscription }: Entitlement,
    amounts: Amounts,
    quotas: Quotas,
    period: Period.Period
  ) {
    const partition = Partition.metering(bucketId)
    for (const [meter, { max, used }] of Object.entries(quotas.meters)) {
      for (const threshold of crossed(watch.thresholds, used - (amounts[meter] ?? 0), used, max)) {
        const mark = `told:${counterOf(subscription.value.id, meter, period)}:${threshold}`
        const [told] = yield* store.counters(partition, [mark])
        if (told !== 0) continue
        yield* watch.notify({
          bucketId,
          subscriptionId: subscription.value.id,
          customerKey: subscription.value.customerKey,
          meter,
          threshold,
          used,
          max,
          periodStart: DateTime.formatIso(period.start),
          resetsOn: DateTime.formatIso(period.end)
        })
        const ttl = DateTime.toEpochMillis(period.end) - latest + grace
        yield* store.commit(partition, [Change.Add({ counter: mark, by: 1, ttl })])
      }
    }
  })

  /** Counts, on the strength of what was read; a stale conflict says that it is so no longer. */
  const consumeWith = Effect.fnUntraced(function* (
    bucketId: string,
    entitlement: Entitlement,
    further: ReadonlyArray<Change>,
    amounts: Amounts,
    idempotency: Idempotency | undefined
  ) {
    const now = yield* moment
    const { id, quotaResetAnchor, renewalStrategy } = entitlement.subscription.value
    const status = Trial.statusAt(entitlement.subscription.value, now)
    if (!mayConsume(status)) return yield* new SubscriptionNotActive({ status })
    const period = Period.containing(quotaResetAnchor, renewalStrategy, now)
    const maxima = maximaIn(entitlement, period)
    const ttl = DateTime.toEpochMillis(period.end) - DateTime.toEpochMillis(now) + grace
    const adds: Array<Change> = []
    for (const [meter, by] of Object.entries(amounts)) {
      const max = maxima.get(meter)
      if (max === undefined) return yield* new UnknownMeter({ meter })
      adds.push(Change.Add({ counter: counterOf(id, meter, period), by, max, ttl }))
    }
    const changes = [...guards(entitlement), ...further, ...adds]
    const committed = yield* usesOnce
      .commit(Partition.metering(bucketId), changes, idempotency, {
        periodStart: period.start
      })
      .pipe(
        Effect.mapError((error) => {
          if (!(error instanceof StoreConflict) || error.reason !== "exceeded") return error
          const meter = Object.keys(amounts).find((name) => counterOf(id, name, period) === error.name) ?? ""
          return new QuotaExceeded({ meter, max: maxima.get(meter) ?? 0, resetsOn: period.end })
        })
      )
    const used = new Map(Object.keys(amounts).map((meter, index) => [meter, committed.totals[index] ?? 0]))
    if (committed.earlier !== undefined) {
      const counted = Period.containing(quotaResetAnchor, renewalStrategy, committed.earlier.periodStart)
      return quotasFrom(used, maximaIn(entitlement, counted), counted)
    }
    const quotas = quotasFrom(used, maxima, period)
    if (watch.thresholds.length > 0) {
      yield* tell(bucketId, entitlement, amounts, quotas, period)
    }
    return quotas
  })

  const readCustomer = Effect.fnUntraced(function* (bucketId: string, customerKey: string) {
    const root = yield* findBucket(bucketId)
    const partition = Partition.metering(bucketId)
    const where = [ofCustomer(customerKey)]
    const first = yield* subscriptionRecords.page(partition, { where, offset: 0, limit: newestLookedAt })
    const page =
      first.total <= newestLookedAt
        ? first
        : yield* subscriptionRecords.page(partition, {
            where,
            offset: first.total - newestLookedAt,
            limit: newestLookedAt
          })
    const planIds = [...new Set(page.entries.flatMap(({ value }) => value.planIds))]
    const plans = new Map<string, Entry<StoredPlan>>()
    for (const plan of yield* plansOf(bucketId, planIds)) plans.set(plan.value.id, plan)
    return { root, subscriptions: page.entries.toReversed(), plans, total: page.total } satisfies Customer
  })

  /** Counts for a customer, on the strength of what is remembered, or of what is read anew. */
  const consumeAs = Effect.fnUntraced(function* (
    bucketId: string,
    customerKey: string,
    customer: Customer,
    amounts: Amounts
  ) {
    const now = yield* moment
    const chosen = customer.subscriptions.find(({ value }) => mayConsume(Trial.statusAt(value, now)))
    if (chosen === undefined) {
      return customer.subscriptions.length === 0 ? ("no-subscription" as const) : ("subscription-not-active" as const)
    }
    const plans = chosen.value.planIds.flatMap((id) => customer.plans.get(id) ?? [])
    // Nothing of what the choice was made from may have changed: no newer subscription, and none that changed its state.
    const others = customer.subscriptions.filter((other) => other !== chosen)
    const further = [
      subscriptionRecords.atMost(ofCustomer(customerKey), customer.total),
      ...others.map(subscriptionRecords.unchanged)
    ]
    return yield* consumeWith(
      bucketId,
      { root: customer.root, subscription: chosen, plans },
      further,
      amounts,
      undefined
    )
  })

  const isOutdated = (error: unknown): boolean =>
    error instanceof StoreConflict && (error.reason === "stale" || error.reason === "limit")

  const consumeFor = Effect.fnUntraced(function* (bucketId: string, customerKey: string, amounts: Amounts) {
    const name = `${bucketId} ${customerKey}`
    const anew = Effect.gen(function* () {
      const customer = yield* readCustomer(bucketId, customerKey)
      if (customers.size >= remembered) customers.clear()
      customers.set(name, customer)
      return yield* consumeAs(bucketId, customerKey, customer, amounts)
    })
    const known = customers.get(name)
    const fresh = Contention.retryWhenStale(anew, isOutdated)
    // What says no may have changed: only a yes is given on the strength of what is remembered.
    if (known === undefined) return yield* fresh
    const outcome = yield* consumeAs(bucketId, customerKey, known, amounts).pipe(
      Effect.catchIf(isOutdated, () => Effect.succeed("outdated" as const)),
      Effect.catchTag(["QuotaExceeded", "UnknownMeter", "SubscriptionNotActive"], () =>
        Effect.succeed("outdated" as const)
      )
    )
    return typeof outcome === "string" ? yield* fresh : outcome
  })

  return Usage.of({
    quotas: Effect.fn("Usage.quotas")(function* (bucketId, subscriptionId) {
      const entitlement = yield* entitlementOf(bucketId, subscriptionId)
      const { quotaResetAnchor, renewalStrategy, id } = entitlement.subscription.value
      const period = Period.containing(quotaResetAnchor, renewalStrategy, yield* moment)
      const maxima = maximaIn(entitlement, period)
      const meters = [...maxima.keys()]
      const values = yield* store.counters(
        Partition.metering(bucketId),
        meters.map((meter) => counterOf(id, meter, period))
      )
      return quotasFrom(new Map(meters.map((meter, index) => [meter, values[index] ?? 0])), maxima, period)
    }, withStore),

    consume: Effect.fn("Usage.consume")(function* (bucketId, subscriptionId, amounts, { idempotency } = {}) {
      const attempt = Effect.flatMap(entitlementOf(bucketId, subscriptionId), (entitlement) =>
        consumeWith(bucketId, entitlement, [], amounts, idempotency)
      )
      return yield* Contention.retryWhenStale(attempt)
    }, withStore),

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
