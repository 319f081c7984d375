/**
 * Operations on subscriptions: list, create, get, update and remove.
 */

import {
  applyPatch,
  type Change,
  type CommitResult,
  checkVersion,
  type Entry,
  forEachInPieces,
  Ids,
  omitUndefined,
  Partition,
  retryOnConflict,
  SecretBox,
  Store,
  type StoreConflict,
  type StoreError,
  TrustedClock,
  toPage
} from "@tollgate/store/internal"
import { Context, Effect, Layer } from "effect"
import { Limits } from "../../accounts/limits/Limits.ts"
import { implementOperations } from "../../api/implementOperations.ts"
import type { Operations } from "../../api/Operations.ts"
import { limitWithUsage } from "../../api/query.ts"
import { DueWork } from "../../jobs/DueWork.ts"
import { closeRemoved } from "../credits/closeRemoved.ts"
import { readQuotas, readSettledQuotas } from "../ledger/readQuotas.ts"
import { isNewReservation, removeUsage } from "../ledger/removeUsage.ts"
import { findWithCredit, readCreditAccount } from "../model/Credit.ts"
import { toEntitlements } from "../model/customerEntitlements.ts"
import { bumpCustomerVersion, readCustomerVersion, removeCustomer } from "../model/customerRecords.ts"
import { dueChangesJob } from "../model/dueTerms.ts"
import { findMeteringBucket, meteringBucketRecords } from "../model/meteringBucketRecords.ts"
import { recordSubscriptionEvent } from "../model/meteringEvents.ts"
import type { newSubscriptionErrors } from "../model/newSubscriptionErrors.ts"
import { getPlanIds } from "../model/PendingChange.ts"
import { UnknownPlan } from "../model/PlanError.ts"
import { readPlans } from "../model/planRecords.ts"
import {
  getUsageId,
  type NewSubscription,
  type StoredSubscription,
  type Subscription,
  type SubscriptionId,
  type SubscriptionStatus
} from "../model/Subscription.ts"
import { SubscriptionExternalIdTaken } from "../model/SubscriptionError.ts"
import { subscriptionAt, withCanceledOn } from "../model/subscriptionAt.ts"
import {
  byCustomer,
  byCustomerExternalId,
  byStatus,
  bySubscriptionExternalId,
  findSubscription,
  subscriptionRecords
} from "../model/subscriptionRecords.ts"
import * as Trial from "../model/Trial.ts"
import { readExternalIds, toSubscription, toSubscriptions } from "../model/toSubscription.ts"
import { closePeriods } from "../periods/closePeriods.ts"
import { periodsJob, toCanceledDue } from "../periods/closingSchedule.ts"
import { closeDeleted } from "../periods/closingWrites.ts"
import { findContinued, isUsageShared } from "./canceledSubscriptions.ts"
import { persistDueChanges } from "./persistDueChanges.ts"
import { type QuotaMethods, SubscriptionsApi, type SubscriptionsMethods } from "./SubscriptionsApi.ts"
import {
  checkPeriods,
  computePlanChange,
  findPlansByExternalId,
  haveSameIds,
  makeStoredSubscription,
  toPlanIds
} from "./subscriptionPlans.ts"
import { makeSubscriptionWrites } from "./subscriptionWrites.ts"

/** How a new subscription is committed. */
interface Creation<E> {
  readonly commit: (
    changes: ReadonlyArray<Change>,
    subscription: Subscription
  ) => Effect.Effect<CommitResult, E | StoreConflict>
  /** Default: a new one. */
  readonly id?: SubscriptionId
  readonly guards?: ReadonlyArray<Change>
}

interface SubscriptionFilter {
  readonly customerKey?: string
  readonly customerExternalId?: string
  readonly subscriptionExternalId?: string
  readonly status?: SubscriptionStatus
}

const toIndexTerms = ({ customerKey, customerExternalId, subscriptionExternalId, status }: SubscriptionFilter) => [
  ...(customerKey === undefined ? [] : [byCustomer(customerKey)]),
  ...(customerExternalId === undefined ? [] : [byCustomerExternalId(customerExternalId)]),
  ...(subscriptionExternalId === undefined ? [] : [bySubscriptionExternalId(subscriptionExternalId)]),
  ...(status === undefined ? [] : [byStatus(status)])
]

const make = Effect.gen(function* () {
  const store = yield* Store
  const limits = yield* Limits
  const secretBox = yield* SecretBox
  const trustedClock = yield* TrustedClock
  const dueWork = yield* DueWork
  const withStore = Effect.provideService(Store, store)
  yield* dueWork.register({
    ...dueChangesJob,
    run: (partition, accountName) =>
      withStore(
        Effect.gen(function* () {
          const now = yield* trustedClock.now
          // Before one is canceled by it.
          yield* dueWork.ensure(periodsJob, partition, Effect.succeed(accountName), toCanceledDue(now))
          return yield* persistDueChanges(Partition.getBucketId(partition), now)
        })
      )
  })
  yield* dueWork.register({
    ...periodsJob,
    run: (partition) =>
      withStore(Effect.flatMap(trustedClock.now, (now) => closePeriods(Partition.getBucketId(partition), now)))
  })

  const { insert, replace, registerOverrides, mapConflict } = makeSubscriptionWrites({ dueWork, limits })

  const toSubscriptionEntry = Effect.fnUntraced(function* (
    bucketId: string,
    { value, version }: Entry<StoredSubscription>
  ) {
    const [subscription] = yield* toSubscriptions(bucketId, [value], yield* trustedClock.now)
    return subscription === undefined
      ? yield* Effect.die("toSubscriptions returned no subscription")
      : { value: subscription, version }
  })

  /** A value with the version that the commit gave it. */
  const toCommittedEntry = (value: Subscription, commitResult: CommitResult): Entry<Subscription> => ({
    value,
    version: subscriptionRecords.getVersion(commitResult, value.id)
  })

  /** The plans of a new subscription. Fails if they do not exist, or not together. */
  const findPlansOf = Effect.fnUntraced(function* (bucketId: string, input: NewSubscription) {
    const found = yield* findPlansByExternalId(bucketId, input.planExternalIds)
    const ids = toPlanIds(found)
    const { planIds = ids } = input
    if (!haveSameIds(planIds, ids)) return yield* new UnknownPlan()
    const plans = planIds.flatMap((id) => found.filter(({ value }) => value.id === id))
    yield* checkPeriods(plans, input)
    return plans
  })

  const create = <E>(bucketId: string, input: NewSubscription, { commit, id, guards = [] }: Creation<E>) => {
    const attempt = Effect.gen(function* () {
      const bucketEntry = yield* findMeteringBucket(bucketId)
      const { planIds: _, planExternalIds: __, continueUsage = false, ...fields } = input
      const plans = yield* findPlansOf(bucketId, input)
      const now = yield* trustedClock.now
      // Before the subscription that it continues is read, so that the commit detects any later change.
      const customerVersion = yield* readCustomerVersion(bucketId, fields.customerKey)
      const continued = continueUsage ? yield* findContinued(bucketId, fields, now) : {}
      const made = makeStoredSubscription(fields, { id: id ?? (yield* Ids.generate("sbsc")), plans, now })
      const value = { ...made, ...continued }
      const further = yield* registerOverrides(bucketId, value.overrides)
      const { subscription, changes } = yield* insert({ bucketEntry, value, plans, customerVersion, now, further })
      return toCommittedEntry(subscription, yield* commit([...guards, ...changes], subscription))
    })
    return mapConflict(input.subscriptionExternalId, retryOnConflict(attempt))
  }

  const operations = implementOperations(SubscriptionsApi, { store, secretBox })({
    list: Effect.fnUntraced(function* ({ params: { bucketId }, query: { offset, after, include, ...query } }) {
      const bucketEntry = yield* findMeteringBucket(bucketId)
      const { limit: _, ...filter } = query
      const request = { limit: limitWithUsage({ ...query, include }), offset, after }
      const page = yield* subscriptionRecords.page(Partition.forMeteringBucket(bucketId), {
        where: toIndexTerms(filter),
        ...request,
        mayEndEarly: true
      })
      const now = yield* trustedClock.now
      const data = yield* toSubscriptions(
        bucketId,
        page.entries.map(({ value }) => value),
        now
      )
      if (include === undefined) return toPage(request, page, data)
      const entitlements = yield* toEntitlements(bucketEntry, page.entries)
      const withCredit = yield* findWithCredit(
        Partition.forMeteringBucket(bucketId),
        page.entries.map(({ value }) => value.customerKey)
      )
      const usage = yield* forEachInPieces(entitlements, (entitlement) => {
        const { id, customerKey } = entitlement.subscription.value
        const read = readQuotas(bucketId, entitlement, now)
        return withCredit.has(customerKey)
          ? // It may have been removed since.
            Effect.catchTag(readSettledQuotas(bucketId, id, now), "SubscriptionNotFound", () => read)
          : read
      })
      return toPage(
        request,
        page,
        data.map((subscription, index) => ({ ...subscription, ...omitUndefined({ usage: usage[index] }) }))
      )
    }),

    create: ({ params: { bucketId }, payload: input }, once) =>
      create(bucketId, input, { commit: once(Partition.forMeteringBucket(bucketId), toCommittedEntry) }),

    get: Effect.fnUntraced(function* ({ params: { bucketId, subscriptionId } }) {
      yield* findMeteringBucket(bucketId)
      return yield* toSubscriptionEntry(bucketId, yield* findSubscription(bucketId, subscriptionId))
    }),

    update: Effect.fnUntraced(function* ({
      params: { bucketId, subscriptionId },
      headers: { ifMatch } = {},
      payload: patch
    }) {
      const attempt = Effect.gen(function* () {
        const bucketEntry = yield* findMeteringBucket(bucketId)
        const entry = yield* findSubscription(bucketId, subscriptionId)
        yield* checkVersion(entry, ifMatch)
        const now = yield* trustedClock.now
        const { planExternalIds, prorate, ...fields } = patch
        const plans =
          planExternalIds === undefined ? undefined : yield* findPlansByExternalId(bucketId, planExternalIds)
        yield* checkPeriods(plans ?? [], entry.value)
        const present = subscriptionAt(entry.value, now)
        const updated = applyPatch(present, {
          ...fields,
          ...computePlanChange(present, plans, prorate, now),
          // The caller decides what the subscription is from now on.
          ...(plans === undefined && fields.status === undefined ? {} : { pendingChange: null }),
          updatedOn: now
        })
        const startsTrial = updated.status === "trialing" && present.status !== "trialing"
        const plansOfTrial = startsTrial ? yield* readPlans(bucketId, updated.planIds) : undefined
        const completed = Trial.completeTrial(
          updated,
          fields.trialEndDate === null,
          plansOfTrial?.map(({ value }) => value),
          now
        )
        const value = withCanceledOn(subscriptionAt(completed, now), now)
        const customerVersion = yield* readCustomerVersion(bucketId, value.customerKey)
        const further = yield* registerOverrides(bucketId, fields.overrides)
        const write = { bucketEntry, value, plans: plans ?? [], customerVersion, now, further }
        const { subscription, changes } = yield* replace(write, entry)
        const commitResult = yield* store.commit(Partition.forMeteringBucket(bucketId), changes)
        return toCommittedEntry(subscription, commitResult)
      })
      return yield* retryOnConflict(attempt)
    }),

    remove: Effect.fnUntraced(function* ({ params: { bucketId, subscriptionId }, headers: { ifMatch } = {} }) {
      const attempt = Effect.gen(function* () {
        const bucketEntry = yield* findMeteringBucket(bucketId)
        const entry = yield* findSubscription(bucketId, subscriptionId)
        yield* checkVersion(entry, ifMatch)
        const partition = Partition.forMeteringBucket(bucketId)
        const externalIds = yield* readExternalIds(bucketId, getPlanIds(entry.value))
        const subscription = toSubscription(entry.value, externalIds, yield* trustedClock.now)
        const { customerKey } = entry.value
        const account = yield* readCreditAccount(partition, customerKey)
        const ofCustomer = { where: [byCustomer(customerKey)], offset: 0, limit: 0 }
        const { total } = yield* subscriptionRecords.page(partition, ofCustomer)
        const isShared = yield* isUsageShared(bucketId, entry.value)
        const now = yield* trustedClock.now
        const removed = isShared
          ? []
          : [
              ...(yield* closeRemoved(bucketEntry.value, account, getUsageId(entry.value), now)),
              ...(yield* removeUsage(partition, getUsageId(entry.value)))
            ]
        const closed = yield* closeDeleted(bucketEntry, entry, isShared, now)
        const checked = new Set(removed.flatMap((change) => (change._tag === "CheckCounter" ? [change.counter] : [])))
        yield* store.commit(partition, [
          meteringBucketRecords.assertUnchanged(bucketEntry),
          ...(total > 1 || account.credit !== undefined
            ? [bumpCustomerVersion(account.customer)]
            : removeCustomer(account.customer)),
          subscriptionRecords.remove(entry),
          ...removed,
          ...closed.filter((change) => change._tag !== "CheckCounter" || !checked.has(change.counter)),
          yield* recordSubscriptionEvent("subscription.deleted", bucketEntry.value, subscription)
        ])
      })
      yield* retryOnConflict(attempt, isNewReservation)
    })
  })
  return Subscriptions.of({
    ...operations,
    checkNew: Effect.fnUntraced(function* (bucketId, input) {
      yield* findMeteringBucket(bucketId)
      yield* findPlansOf(bucketId, input)
      const { subscriptionExternalId } = input
      const uniqueKey = subscriptionRecords.uniqueKey(bySubscriptionExternalId(subscriptionExternalId))
      const [taken] = yield* store.getByUniqueKey(Partition.forMeteringBucket(bucketId), [uniqueKey])
      if (taken !== undefined) return yield* new SubscriptionExternalIdTaken({ subscriptionExternalId })
    }, withStore),
    createWith: (bucketId, input, options) =>
      withStore(
        create(bucketId, input, {
          ...options,
          commit: (changes) => store.commit(Partition.forMeteringBucket(bucketId), changes)
        })
      )
  })
})

type SubscriptionOperations = Omit<Operations<typeof SubscriptionsApi, SubscriptionsMethods>, keyof QuotaMethods>

type CreateError = InstanceType<(typeof newSubscriptionErrors)[number]> | StoreError

/**
 * The operations on subscriptions: `list`, `create`, `get`, `update` and `remove`. Each takes one `OperationRequest`.
 * `Usage` has those on their quotas.
 */
export class Subscriptions extends Context.Service<
  Subscriptions,
  SubscriptionOperations & {
    /** Fails as creating the subscription would, and writes nothing. */
    readonly checkNew: (bucketId: string, input: NewSubscription) => Effect.Effect<void, CreateError>
    /** Creates a subscription with this id. `guards` are further preconditions of its commit. */
    readonly createWith: (
      bucketId: string,
      input: NewSubscription,
      options: { readonly id: SubscriptionId; readonly guards: ReadonlyArray<Change> }
    ) => Effect.Effect<Entry<Subscription>, CreateError>
  }
>()("@tollgate/core/metering/Subscriptions") {
  static readonly layer = Layer.effect(Subscriptions, make)
}
