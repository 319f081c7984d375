/**
 * Changes the plans of a customer, now or when the period ends, cancels its subscription, and withdraws what is pending.
 * Each is one commit, which fails if any subscription of the customer has changed since it was read.
 */

import {
  applyPatch,
  type CommitOnce,
  type CommitResult,
  type Entry,
  Ids,
  Partition,
  retryOnConflict,
  Store,
  type StoreOperations,
  type TrustedClock
} from "@tollgate/store/internal"
import { type DateTime, Effect } from "effect"
import { CustomerNotFound } from "../model/CustomerError.ts"
import { readConsumingSubscriptions } from "../model/customerEntitlements.ts"
import { readCustomerVersion } from "../model/customerRecords.ts"
import { findMeteringBucket } from "../model/meteringBucketRecords.ts"
import { getDueChange, type StoredPendingChange } from "../model/PendingChange.ts"
import * as Period from "../model/Period.ts"
import type { Cancellation, PlanChange } from "../model/PlanChange.ts"
import { SubscriptionNotActive } from "../model/QuotaError.ts"
import { canConsume, type StoredSubscription, type Subscription, subscriptionDefaults } from "../model/Subscription.ts"
import { PendingChangeNotFound } from "../model/SubscriptionError.ts"
import { subscriptionAt } from "../model/subscriptionAt.ts"
import { byPendingChange, subscriptionRecords } from "../model/subscriptionRecords.ts"
import { findCanceledInPeriod } from "../subscriptions/canceledSubscriptions.ts"
import {
  checkPeriods,
  computePlanChange,
  findPlansByExternalId,
  haveSameIds,
  makeStoredSubscription,
  type PlanEntries,
  toPlanIds,
  toProrated
} from "../subscriptions/subscriptionPlans.ts"
import { makeSubscriptionWrites, type SubscriptionWriteServices } from "../subscriptions/subscriptionWrites.ts"

interface Services extends SubscriptionWriteServices {
  readonly store: StoreOperations
  readonly trustedClock: TrustedClock["Service"]
}

/** How many pending changes of a customer are looked at: few act and are not written yet. */
const maxPending = 20

export const noneAllowsUsage = (customerKey: string): SubscriptionNotActive =>
  new SubscriptionNotActive({ detail: `No subscription of "${customerKey}" allows usage` })

/** A value with the version that the commit gave it, for the first request and for replays. */
export const toCommittedSubscription = (value: Subscription, commitResult: CommitResult): Entry<Subscription> => ({
  value,
  version: subscriptionRecords.getVersion(commitResult, value.id)
})

/** The newest subscription of a customer whose pending change does not act yet. */
export const findPending = Effect.fnUntraced(function* (bucketId: string, customerKey: string, now: DateTime.Utc) {
  const { entries } = yield* subscriptionRecords.page(Partition.forMeteringBucket(bucketId), {
    where: [byPendingChange(customerKey)],
    offset: 0,
    limit: maxPending,
    descending: true
  })
  return entries.find(({ value }) => getDueChange(value, now) === undefined)
})

const atPeriodEnd = (
  { quotaResetAnchor, renewalStrategy }: StoredSubscription,
  change: Omit<StoredPendingChange, "effectiveOn">,
  now: DateTime.Utc
): StoredPendingChange => ({
  ...change,
  effectiveOn: Period.periodAt(quotaResetAnchor, renewalStrategy, now).end
})

export const makePlanChanges = (services: Services) => {
  const { store, trustedClock } = services
  const { insert, replace, mapConflict } = makeSubscriptionWrites(services)
  const withStore = Effect.provideService(Store, store)

  /** The customer's subscriptions. Its version is read first, so that a commit with it detects any later change. */
  const readPresent = Effect.fnUntraced(function* (bucketId: string, customerKey: string) {
    const bucketEntry = yield* findMeteringBucket(bucketId)
    const customerVersion = yield* readCustomerVersion(bucketId, customerKey)
    const { entries, total } = yield* readConsumingSubscriptions(bucketId, customerKey)
    const now = yield* trustedClock.now
    const newest = entries.find(({ value }) => canConsume(subscriptionAt(value, now).status))
    return { bucketEntry, customerVersion, newest, total, now }
  })

  /** A new subscription with the defaults, and with its id as its external id. */
  const makeNew = Effect.fnUntraced(function* (
    customerKey: string,
    plans: PlanEntries,
    prorate: number | undefined,
    now: DateTime.Utc
  ) {
    const id = yield* Ids.generate("sbsc")
    const external = { customerKey, customerExternalId: customerKey, subscriptionExternalId: id }
    const value = makeStoredSubscription({ ...subscriptionDefaults, ...external }, { id, plans, now })
    return prorate === undefined ? value : { ...value, prorated: toProrated(value, prorate, now) }
  })

  const changePlan = Effect.fnUntraced(function* (
    bucketId: string,
    customerKey: string,
    { planExternalIds, at, prorate }: PlanChange,
    commitOnce: CommitOnce<Subscription>
  ) {
    const attempt = Effect.gen(function* () {
      const { bucketEntry, customerVersion, newest, now } = yield* readPresent(bucketId, customerKey)
      const plans = yield* findPlansByExternalId(bucketId, planExternalIds)
      const planIds = toPlanIds(plans)
      const entry = newest ?? (yield* findCanceledInPeriod(bucketId, customerKey, now))
      const write = { bucketEntry, customerVersion, plans, now }
      const make = Effect.gen(function* () {
        yield* checkPeriods(plans, entry?.value ?? subscriptionDefaults)
        if (entry === undefined) {
          return yield* insert({ ...write, value: yield* makeNew(customerKey, plans, prorate, now) })
        }
        const present = subscriptionAt(entry.value, now)
        const isLater = newest !== undefined && at === "period-end" && !haveSameIds(present.planIds, planIds)
        const value = applyPatch(present, {
          ...(newest === undefined ? { status: subscriptionDefaults.status, canceledOn: null } : {}),
          ...(newest !== undefined && at === "period-end" ? {} : computePlanChange(present, plans, prorate, now)),
          pendingChange: isLater ? atPeriodEnd(present, { planIds }, now) : null,
          updatedOn: now
        })
        return yield* replace({ ...write, value }, entry)
      })
      const { subscription, changes } = yield* make
      return toCommittedSubscription(subscription, yield* commitOnce(changes, subscription))
    })
    return yield* mapConflict("", retryOnConflict(attempt))
  }, withStore)

  const cancel = Effect.fnUntraced(function* (
    bucketId: string,
    customerKey: string,
    { at }: Cancellation,
    commitOnce: CommitOnce<Subscription>
  ) {
    const attempt = Effect.gen(function* () {
      const { newest, total, ...write } = yield* readPresent(bucketId, customerKey)
      const { now } = write
      if (newest === undefined) {
        return yield* total === 0 ? new CustomerNotFound({ customerKey }) : noneAllowsUsage(customerKey)
      }
      const present = subscriptionAt(newest.value, now)
      const status = "canceled" as const
      const value = applyPatch(present, {
        ...(at === "now" ? { status, canceledOn: now } : {}),
        pendingChange: at === "now" ? null : atPeriodEnd(present, { status }, now),
        updatedOn: now
      })
      const { subscription, changes } = yield* replace({ ...write, plans: [], value }, newest)
      return toCommittedSubscription(subscription, yield* commitOnce(changes, subscription))
    })
    return yield* retryOnConflict(attempt)
  }, withStore)

  const withdrawPendingChange = Effect.fnUntraced(function* (bucketId: string, customerKey: string) {
    const attempt = Effect.gen(function* () {
      const { newest: _, total, ...write } = yield* readPresent(bucketId, customerKey)
      const { now } = write
      const pending = yield* findPending(bucketId, customerKey, now)
      if (pending === undefined) {
        return yield* total === 0 ? new CustomerNotFound({ customerKey }) : new PendingChangeNotFound({ customerKey })
      }
      const value = applyPatch(subscriptionAt(pending.value, now), { pendingChange: null, updatedOn: now })
      const { changes } = yield* replace({ ...write, plans: [], value }, pending)
      yield* store.commit(Partition.forMeteringBucket(bucketId), changes)
    })
    yield* retryOnConflict(attempt)
  }, withStore)

  return { changePlan, cancel, withdrawPendingChange }
}
