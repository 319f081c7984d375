/**
 * The operations on subscriptions.
 */
import { Context, type DateTime, Effect, Layer, Option } from "effect"
import * as Id from "../crypto/Id.ts"
import { SecretBox } from "../crypto/SecretBox.ts"
import { TrustedClock } from "../runtime/TrustedClock.ts"
import { withSafeSpan } from "../runtime/withSafeSpan.ts"
import type { Page, PageRequest } from "../schema/Page.ts"
import { checkVersion, type VersionMismatch } from "../schema/VersionMismatch.ts"
import type { Entry } from "../store/Collection.ts"
import { type Idempotency, type IdempotencyError, idempotentCommit } from "../store/Idempotency.ts"
import * as Partition from "../store/Partition.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { type CommitResult, Store } from "../store/Store.ts"
import { type RecordUnreadable, StoreConflict, type StoreError } from "../store/StoreError.ts"
import * as Customer from "./customerRecords.ts"
import type { MeteringBucketNotFound } from "./MeteringBucket.ts"
import { findMeteringBucket, rootRecords } from "./meteringBucketRecords.ts"
import * as Period from "./Period.ts"
import type { StoredPlan } from "./Plan.ts"
import { UnknownPlan } from "./PlanError.ts"
import { persistEndedTrials } from "./persistEndedTrials.ts"
import { externalIdClaim, planRecords } from "./planRecords.ts"
import {
  type StoredSubscription,
  Subscription,
  type SubscriptionCreate,
  SubscriptionId,
  type SubscriptionStatus,
  type SubscriptionUpdate
} from "./Subscription.ts"
import { SubscriptionExternalIdTaken, type SubscriptionNotFound } from "./SubscriptionError.ts"
import {
  findSubscription,
  inStatus,
  ofCustomer,
  ofCustomerExternal,
  subscriptionRecords,
  withExternalId
} from "./subscriptionRecords.ts"
import * as Trial from "./Trial.ts"

export interface SubscriptionFilter {
  readonly customerKey?: string
  readonly customerExternalId?: string
  readonly subscriptionExternalId?: string
  readonly status?: SubscriptionStatus
}

const termsOf = ({ customerKey, customerExternalId, subscriptionExternalId, status }: SubscriptionFilter) => [
  ...(customerKey === undefined ? [] : [ofCustomer(customerKey)]),
  ...(customerExternalId === undefined ? [] : [ofCustomerExternal(customerExternalId)]),
  ...(subscriptionExternalId === undefined ? [] : [withExternalId(subscriptionExternalId)]),
  ...(status === undefined ? [] : [inStatus(status)])
]

const sameNames = (left: ReadonlyArray<string>, right: ReadonlyArray<string>): boolean =>
  left.length === right.length && left.every((name) => right.includes(name))

const make = Effect.gen(function* () {
  const store = yield* Store
  const vault = yield* SecretBox
  const moments = yield* TrustedClock
  const withStore = Effect.provideService(Store, store)
  const subscriptionsOnce = idempotentCommit(store, vault, Subscription)

  /** The plans of these external ids, in that order. */
  const findPlansByExternalId = Effect.fnUntraced(function* (bucketId: string, planExternalIds: ReadonlyArray<string>) {
    const claims = planExternalIds.map((id) => planRecords.uniqueKey(externalIdClaim(id)))
    const found = yield* store.getByUniqueKey(Partition.metering(bucketId), claims)
    return yield* Effect.forEach(
      found,
      (mapUniqueKeyConflict, index): Effect.Effect<Entry<StoredPlan>, UnknownPlan | RecordUnreadable> =>
        mapUniqueKeyConflict === undefined
          ? Effect.fail(
              new UnknownPlan({ problem: `There is no plan with the planExternalId "${planExternalIds[index]}"` })
            )
          : planRecords.decode(mapUniqueKeyConflict.record)
    )
  })

  /** The external ids of plans, read in one call. */
  const readExternalIds = Effect.fnUntraced(function* (bucketId: string, planIds: ReadonlyArray<string>) {
    const records = yield* store.get(Partition.metering(bucketId), planIds.map(planRecords.recordKey))
    const externalIds = new Map<string, string>()
    for (const record of records) {
      if (record === undefined) continue
      const { value } = yield* planRecords.decode(record)
      externalIds.set(value.id, value.planExternalId)
    }
    return externalIds
  })

  /** Subscriptions as they are at this moment. */
  const toSubscriptions = (
    bucketId: string,
    subscriptions: ReadonlyArray<StoredSubscription>,
    attempts = 3
  ): Effect.Effect<ReadonlyArray<Subscription>, StoreError, Store> =>
    Effect.gen(function* () {
      const now = yield* moments.now
      const planIds = [...new Set(subscriptions.flatMap(({ planIds }) => planIds))]
      const externalIds = yield* readExternalIds(bucketId, planIds)
      if (externalIds.size < planIds.length && attempts > 1) {
        // A plan that is gone was exchanged for another since its subscription was read.
        const refreshed = yield* Effect.forEach(subscriptions, (subscription) =>
          Effect.map(
            subscriptionRecords.get(Partition.metering(bucketId), subscription.id),
            Option.match({ onNone: () => subscription, onSome: ({ value }) => value })
          )
        )
        return yield* toSubscriptions(bucketId, refreshed, attempts - 1)
      }
      return subscriptions.map((subscription) => toSubscription(subscription, externalIds, now))
    })

  const toSubscription = (
    { prorated: _, nextBillingCycle, ...stored }: StoredSubscription,
    externalIds: ReadonlyMap<string, string>,
    now: DateTime.Utc
  ): Subscription => ({
    ...stored,
    planExternalIds: stored.planIds.map((id) => externalIds.get(id) ?? ""),
    status: Trial.statusAt(stored, now),
    nextBillingCycle: nextBillingCycle ?? Period.containing(stored.quotaResetAnchor, stored.renewalStrategy, now).end
  })

  const toSubscriptionEntry = Effect.fnUntraced(function* (
    bucketId: string,
    { value, version }: Entry<StoredSubscription>
  ) {
    const [shown] = yield* toSubscriptions(bucketId, [value])
    return shown === undefined
      ? yield* Effect.die("a subscription was lost while it was shown")
      : { value: shown, version }
  })

  const versioned = (value: Subscription, committed: CommitResult): Entry<Subscription> => ({
    value,
    version: subscriptionRecords.versionIn(committed, value.id)
  })

  const mapUniqueKeyConflict = <A, E, R>(
    subscriptionExternalId: string,
    effect: Effect.Effect<A, E | StoreConflict, R>
  ) =>
    Effect.mapError(effect, (error) =>
      error instanceof StoreConflict && error.reason === "unique-key"
        ? new SubscriptionExternalIdTaken({ subscriptionExternalId })
        : error
    )

  return Subscriptions.of({
    list: Effect.fnUntraced(
      function* (bucketId, { limit, offset, ...filter }) {
        yield* findMeteringBucket(bucketId)
        if (filter.status !== undefined) yield* persistEndedTrials(bucketId, yield* moments.now)
        const page = yield* subscriptionRecords.page(Partition.metering(bucketId), {
          where: termsOf(filter),
          offset,
          limit
        })
        const data = yield* toSubscriptions(
          bucketId,
          page.entries.map(({ value }) => value)
        )
        return { data, limit, offset, total: page.total }
      },
      withStore,
      withSafeSpan("Subscriptions.list")
    ),

    create: Effect.fnUntraced(
      function* (bucketId, input, { idempotency } = {}) {
        const attempt = Effect.gen(function* () {
          const root = yield* findMeteringBucket(bucketId)
          const named = yield* findPlansByExternalId(bucketId, input.planExternalIds)
          const { planIds, planExternalIds: _, ...details } = input
          if (
            !sameNames(
              planIds,
              named.map(({ value }) => value.id)
            )
          ) {
            return yield* new UnknownPlan({
              problem: "planIds and planExternalIds do not name the same plans of this bucket"
            })
          }
          const plans = planIds.flatMap((id) => named.filter(({ value }) => value.id === id))
          const now = yield* moments.now
          const stored: StoredSubscription = {
            id: SubscriptionId.make(yield* Id.next("sbsc")),
            createdOn: now,
            updatedOn: now,
            ...details,
            planIds: plans.map(({ value }) => value.id),
            quotaResetAnchor: input.quotaResetAnchor ?? now,
            ...Trial.initialTrial(
              input,
              plans.map(({ value }) => value),
              now
            )
          }
          const externalIds = new Map(plans.map(({ value }) => [value.id as string, value.planExternalId]))
          const shown = toSubscription(stored, externalIds, now)
          const committed = yield* subscriptionsOnce.commit(
            Partition.metering(bucketId),
            [
              rootRecords.assertUnchanged(root),
              ...plans.map(planRecords.assertUnchanged),
              Customer.bumpCustomerVersion(yield* Customer.readCustomerVersion(bucketId, stored.customerKey)),
              subscriptionRecords.insert(stored)
            ],
            idempotency,
            shown
          )
          return versioned(committed.previousResult ?? shown, committed)
        })
        const made = mapUniqueKeyConflict(input.subscriptionExternalId, retryOnConflict(attempt))
        return yield* subscriptionsOnce.recalling(Partition.metering(bucketId), idempotency, versioned, made)
      },
      withStore,
      withSafeSpan("Subscriptions.create")
    ),

    get: Effect.fnUntraced(
      function* (bucketId, subscriptionId) {
        yield* findMeteringBucket(bucketId)
        return yield* toSubscriptionEntry(bucketId, yield* findSubscription(bucketId, subscriptionId))
      },
      withStore,
      withSafeSpan("Subscriptions.get")
    ),

    update: Effect.fnUntraced(
      function* (bucketId, subscriptionId, patch, { ifMatch } = {}) {
        const attempt = Effect.gen(function* () {
          const root = yield* findMeteringBucket(bucketId)
          const entry = yield* findSubscription(bucketId, subscriptionId)
          yield* checkVersion(entry, ifMatch)
          const now = yield* moments.now
          const { planExternalIds, prorate, ...fields } = patch
          const plans =
            planExternalIds === undefined ? undefined : yield* findPlansByExternalId(bucketId, planExternalIds)
          const { prorated: _, ...rest } = entry.value
          const value: StoredSubscription = {
            ...rest,
            status: Trial.statusAt(entry.value, now),
            ...fields,
            ...planChange(
              entry.value,
              plans?.map(({ value }) => value),
              prorate,
              now
            ),
            updatedOn: now
          }
          const committed = yield* store.commit(Partition.metering(bucketId), [
            rootRecords.assertUnchanged(root),
            ...(plans ?? []).map(planRecords.assertUnchanged),
            Customer.bumpCustomerVersion(yield* Customer.readCustomerVersion(bucketId, value.customerKey)),
            subscriptionRecords.replace(entry, value)
          ])
          return yield* toSubscriptionEntry(bucketId, {
            value,
            version: subscriptionRecords.versionIn(committed, value.id)
          })
        })
        return yield* retryOnConflict(attempt)
      },
      withStore,
      withSafeSpan("Subscriptions.update")
    ),

    remove: Effect.fnUntraced(
      function* (bucketId, subscriptionId, { ifMatch } = {}) {
        const attempt = Effect.gen(function* () {
          const root = yield* findMeteringBucket(bucketId)
          const entry = yield* findSubscription(bucketId, subscriptionId)
          yield* checkVersion(entry, ifMatch)
          yield* store.commit(Partition.metering(bucketId), [
            rootRecords.assertUnchanged(root),
            Customer.bumpCustomerVersion(yield* Customer.readCustomerVersion(bucketId, entry.value.customerKey)),
            subscriptionRecords.remove(entry)
          ])
        })
        yield* retryOnConflict(attempt)
      },
      withStore,
      withSafeSpan("Subscriptions.remove")
    )
  })
})

/** The plans and their share after a change; the same plans again change nothing. */
const planChange = (
  { planIds, prorated, quotaResetAnchor, renewalStrategy }: StoredSubscription,
  plans: ReadonlyArray<StoredPlan> | undefined,
  prorate: number | undefined,
  now: DateTime.Utc
): Pick<StoredSubscription, "planIds" | "prorated"> => {
  const kept = { planIds, ...(prorated === undefined ? {} : { prorated }) }
  if (
    plans === undefined ||
    sameNames(
      planIds,
      plans.map(({ id }) => id)
    )
  )
    return kept
  const changed = { planIds: plans.map(({ id }) => id) }
  if (prorate === undefined) return changed
  const periodStart = Period.containing(quotaResetAnchor, renewalStrategy, now).start
  return { ...changed, prorated: { periodStart, share: prorate } }
}

interface Conditions {
  readonly ifMatch?: ReadonlyArray<number> | undefined
}

export class Subscriptions extends Context.Service<
  Subscriptions,
  {
    /** A page of the subscriptions that fit, oldest first. */
    readonly list: (
      bucketId: string,
      query: PageRequest & SubscriptionFilter
    ) => Effect.Effect<Page<Subscription>, StoreError | MeteringBucketNotFound>
    readonly create: (
      bucketId: string,
      input: SubscriptionCreate,
      options?: { readonly idempotency?: Idempotency | undefined }
    ) => Effect.Effect<
      Entry<Subscription>,
      StoreError | MeteringBucketNotFound | UnknownPlan | SubscriptionExternalIdTaken | IdempotencyError
    >
    readonly get: (
      bucketId: string,
      subscriptionId: string
    ) => Effect.Effect<Entry<Subscription>, StoreError | MeteringBucketNotFound | SubscriptionNotFound>
    /** Changes status, plans, metadata or the end of the trial. What was used so far stays. */
    readonly update: (
      bucketId: string,
      subscriptionId: string,
      patch: SubscriptionUpdate,
      conditions?: Conditions
    ) => Effect.Effect<
      Entry<Subscription>,
      StoreError | MeteringBucketNotFound | SubscriptionNotFound | UnknownPlan | VersionMismatch
    >
    readonly remove: (
      bucketId: string,
      subscriptionId: string,
      conditions?: Conditions
    ) => Effect.Effect<void, StoreError | MeteringBucketNotFound | SubscriptionNotFound | VersionMismatch>
  }
>()("@tollgate/core/metering/Subscriptions") {
  static readonly layer = Layer.effect(Subscriptions, make)
}
