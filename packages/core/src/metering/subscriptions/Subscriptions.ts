/**
 * Operations on subscriptions: list, create, get, update and remove.
 */
import { Clock, Context, type DateTime, Effect, Layer, Option } from "effect"
import { LimitReached } from "../../accounts/limits/LimitReached.ts"
import { Limits } from "../../accounts/limits/Limits.ts"
import { implementOperations } from "../../api/implementOperations.ts"
import type { Operations } from "../../api/Operations.ts"
import * as Id from "../../crypto/Id.ts"
import { SecretBox } from "../../crypto/SecretBox.ts"
import { asSystem } from "../../outbox/CurrentActor.ts"
import { TrustedClock } from "../../runtime/TrustedClock.ts"
import { toPage } from "../../schema/Page.ts"
import { applyPatch, type Patch } from "../../schema/patch.ts"
import { checkVersion } from "../../schema/VersionMismatch.ts"
import type { Entry } from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { liveClock, retryOnConflict } from "../../store/retryOnConflict.ts"
import { type CommitResult, Store } from "../../store/Store.ts"
import { type RecordUnreadable, StoreConflict, type StoreError } from "../../store/StoreError.ts"
import { forEachMarkedBucket, makeMarkOnce } from "../buckets/markedBuckets.ts"
import { isNewReservation, removeUsage } from "../ledger/removeUsage.ts"
import { bumpCustomerVersion, readCustomerVersion, removeCustomer } from "../model/customerRecords.ts"
import { findMeteringBucket, meteringBucketRecords } from "../model/meteringBucketRecords.ts"
import { trialsTerm } from "../model/meteringDirectoryRecords.ts"
import { recordStatusChange, recordSubscriptionEvent } from "../model/meteringEvents.ts"
import * as Period from "../model/Period.ts"
import type { StoredPlan } from "../model/Plan.ts"
import { UnknownPlan } from "../model/PlanError.ts"
import { byPlanExternalId, planRecords, readPlans } from "../model/planRecords.ts"
import {
  type StoredSubscription,
  type Subscription,
  SubscriptionId,
  type SubscriptionStatus
} from "../model/Subscription.ts"
import { SubscriptionExternalIdTaken } from "../model/SubscriptionError.ts"
import {
  byCustomer,
  byCustomerExternalId,
  byStatus,
  bySubscriptionExternalId,
  findSubscription,
  subscriptionRecords
} from "../model/subscriptionRecords.ts"
import * as Trial from "../model/Trial.ts"
import { readExternalIds, toSubscription } from "../model/toSubscription.ts"
import { persistEndedTrials } from "./persistEndedTrials.ts"
import { type QuotaMethods, SubscriptionsApi, type SubscriptionsMethods } from "./SubscriptionsApi.ts"

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

const haveSameIds = (left: ReadonlyArray<string>, right: ReadonlyArray<string>): boolean =>
  left.length === right.length && left.every((id) => right.includes(id))

/** How often the background job looks for trials that have ended. */
const trialInterval = "20 seconds"

const make = Effect.gen(function* () {
  const store = yield* Store
  const { subscriptionsPerMeteringBucket } = yield* Limits
  const secretBox = yield* SecretBox
  const trustedClock = yield* TrustedClock
  const markTrials = makeMarkOnce(trialsTerm)

  yield* Effect.flatMap(trustedClock.now, (now) =>
    forEachMarkedBucket(trialsTerm, "Ending trials", (bucketId) => persistEndedTrials(bucketId, now))
  ).pipe(
    Effect.catchCause((cause) => Effect.logDebug("Looking for ended trials failed", cause)),
    // Only the pause uses the real clock: which trials have ended depends on the clock of the services.
    Effect.andThen(Effect.provideService(Effect.sleep(trialInterval), Clock.Clock, liveClock)),
    Effect.forever,
    Effect.provideService(Store, store),
    Effect.forkScoped({ startImmediately: true })
  )

  /** The plans with these external ids, in the order of the ids. */
  const findPlansByExternalId = Effect.fnUntraced(function* (bucketId: string, planExternalIds: ReadonlyArray<string>) {
    const uniqueKeys = planExternalIds.map((id) => planRecords.uniqueKey(byPlanExternalId(id)))
    const matches = yield* store.getByUniqueKey(Partition.forMeteringBucket(bucketId), uniqueKeys)
    return yield* Effect.forEach(
      matches,
      (match, index): Effect.Effect<Entry<StoredPlan>, UnknownPlan | RecordUnreadable> =>
        match === undefined
          ? Effect.fail(
              new UnknownPlan({
                detail: `No plan in this metering bucket has the planExternalId "${planExternalIds[index]}"`
              })
            )
          : planRecords.decode(match.record)
    )
  })

  /** Converts stored subscriptions for the caller, with their effective status. */
  const toSubscriptions = (
    bucketId: string,
    subscriptions: ReadonlyArray<StoredSubscription>,
    attempts = 3
  ): Effect.Effect<ReadonlyArray<Subscription>, StoreError, Store> =>
    Effect.gen(function* () {
      const now = yield* trustedClock.now
      const planIds = [...new Set(subscriptions.flatMap(({ planIds }) => planIds))]
      const externalIds = yield* readExternalIds(bucketId, planIds)
      if (externalIds.size < planIds.length && attempts > 1) {
        // A plan is missing: the subscription moved to another plan after it was read. Read it again.
        const refreshed = yield* Effect.forEach(subscriptions, (subscription) =>
          Effect.map(
            subscriptionRecords.get(Partition.forMeteringBucket(bucketId), subscription.id),
            Option.match({ onNone: () => subscription, onSome: ({ value }) => value })
          )
        )
        return yield* toSubscriptions(bucketId, refreshed, attempts - 1)
      }
      return subscriptions.map((subscription) => toSubscription(subscription, externalIds, now))
    })

  const toSubscriptionEntry = Effect.fnUntraced(function* (
    bucketId: string,
    { value, version }: Entry<StoredSubscription>
  ) {
    const [subscription] = yield* toSubscriptions(bucketId, [value])
    return subscription === undefined
      ? yield* Effect.die("toSubscriptions returned no subscription")
      : { value: subscription, version }
  })

  /** A value with the version that the commit gave it. */
  const toCommittedEntry = (value: Subscription, commitResult: CommitResult): Entry<Subscription> => ({
    value,
    version: subscriptionRecords.getVersion(commitResult, value.id)
  })

  const mapConflict = <A, E, R>(subscriptionExternalId: string, effect: Effect.Effect<A, E | StoreConflict, R>) =>
    Effect.mapError(effect, (error) => {
      if (!(error instanceof StoreConflict)) return error
      if (error.reason === "unique-key") return new SubscriptionExternalIdTaken({ subscriptionExternalId })
      return error.reason === "too-many-records"
        ? new LimitReached({ limit: "subscriptionsPerMeteringBucket", max: subscriptionsPerMeteringBucket })
        : error
    })

  return implementOperations(SubscriptionsApi, { store, secretBox })({
    list: Effect.fnUntraced(function* ({ params: { bucketId }, query: { limit, offset, after, ...filter } }) {
      yield* findMeteringBucket(bucketId)
      const request = { limit, offset, after }
      const page = yield* subscriptionRecords.page(Partition.forMeteringBucket(bucketId), {
        where: toIndexTerms(filter),
        ...request,
        mayEndEarly: true
      })
      const data = yield* toSubscriptions(
        bucketId,
        page.entries.map(({ value }) => value)
      )
      return toPage(request, page, data)
    }),

    create: Effect.fnUntraced(function* ({ params: { bucketId }, payload: input }, once) {
      const commitOnce = once(Partition.forMeteringBucket(bucketId), toCommittedEntry)
      const attempt = Effect.gen(function* () {
        const bucketEntry = yield* findMeteringBucket(bucketId)
        const plansByExternalId = yield* findPlansByExternalId(bucketId, input.planExternalIds)
        const { planIds, planExternalIds: _, ...fields } = input
        if (
          !haveSameIds(
            planIds,
            plansByExternalId.map(({ value }) => value.id)
          )
        ) {
          return yield* new UnknownPlan()
        }
        const plans = planIds.flatMap((id) => plansByExternalId.filter(({ value }) => value.id === id))
        const now = yield* trustedClock.now
        const stored = Trial.withStatusAt(now, {
          id: SubscriptionId.make(yield* Id.generate("sbsc")),
          createdOn: now,
          updatedOn: now,
          ...fields,
          planIds: plans.map(({ value }) => value.id),
          quotaResetAnchor: input.quotaResetAnchor ?? now,
          ...Trial.makeInitialTrial(
            input,
            plans.map(({ value }) => value),
            now
          )
        })
        if (stored.status === "trialing") yield* markTrials(bucketId)
        const externalIds = new Map(plans.map(({ value }) => [value.id as string, value.planExternalId]))
        const subscription = toSubscription(stored, externalIds, now)
        const commitResult = yield* commitOnce(
          [
            meteringBucketRecords.assertUnchanged(bucketEntry),
            ...plans.map(planRecords.assertUnchanged),
            bumpCustomerVersion(yield* readCustomerVersion(bucketId, stored.customerKey)),
            subscriptionRecords.insert(stored),
            subscriptionRecords.assertAtMost(undefined, subscriptionsPerMeteringBucket - 1),
            yield* recordSubscriptionEvent("subscription.created", bucketEntry.value, subscription)
          ],
          subscription
        )
        return toCommittedEntry(subscription, commitResult)
      })
      return yield* mapConflict(input.subscriptionExternalId, retryOnConflict(attempt))
    }),

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
        const previousStatus = Trial.statusAt(entry.value, now)
        const updated = applyPatch(entry.value, {
          status: previousStatus,
          ...fields,
          ...computePlanChange(
            entry.value,
            plans?.map(({ value }) => value),
            prorate,
            now
          ),
          updatedOn: now
        })
        const startsTrial = updated.status === "trialing" && previousStatus !== "trialing"
        const plansOfTrial = startsTrial ? yield* readPlans(bucketId, updated.planIds) : undefined
        const value = Trial.withStatusAt(
          now,
          Trial.completeTrial(
            updated,
            fields.trialEndDate === null,
            plansOfTrial?.map(({ value }) => value),
            now
          )
        )
        if (value.status === "trialing") yield* markTrials(bucketId)
        // Before the commit, because it reads from the store: an update that was applied must not fail.
        const planIds = [...new Set([...entry.value.planIds, ...value.planIds])]
        const externalIds = yield* readExternalIds(bucketId, planIds)
        const subscription = toSubscription(value, externalIds, now)
        const previous = toSubscription({ ...entry.value, updatedOn: now }, externalIds, now)
        const commitResult = yield* store.commit(Partition.forMeteringBucket(bucketId), [
          meteringBucketRecords.assertUnchanged(bucketEntry),
          ...(plans ?? []).map(planRecords.assertUnchanged),
          bumpCustomerVersion(yield* readCustomerVersion(bucketId, value.customerKey)),
          subscriptionRecords.replace(entry, value),
          // The trial has ended, and no job has noticed it yet.
          ...(previousStatus === entry.value.status
            ? []
            : [yield* asSystem(recordStatusChange(bucketEntry.value, previous, entry.value.status))]),
          yield* recordSubscriptionEvent("subscription.updated", bucketEntry.value, subscription),
          ...(value.status === previousStatus
            ? []
            : [yield* recordStatusChange(bucketEntry.value, subscription, previousStatus)])
        ])
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
        const externalIds = yield* readExternalIds(bucketId, entry.value.planIds)
        const subscription = toSubscription(entry.value, externalIds, yield* trustedClock.now)
        const { customerKey } = entry.value
        const customerVersion = yield* readCustomerVersion(bucketId, customerKey)
        const ofCustomer = { where: [byCustomer(customerKey)], offset: 0, limit: 0 }
        const { total } = yield* subscriptionRecords.page(partition, ofCustomer)
        yield* store.commit(partition, [
          meteringBucketRecords.assertUnchanged(bucketEntry),
          ...(total > 1 ? [bumpCustomerVersion(customerVersion)] : removeCustomer(customerVersion)),
          subscriptionRecords.remove(entry),
          ...(yield* removeUsage(partition, subscriptionId)),
          yield* recordSubscriptionEvent("subscription.deleted", bucketEntry.value, subscription)
        ])
      })
      yield* retryOnConflict(attempt, isNewReservation)
    })
  })
})

/** What an update changes of the plans and the proration. Setting the same plans again changes nothing. */
const computePlanChange = (
  { planIds, quotaResetAnchor, renewalStrategy }: StoredSubscription,
  plans: ReadonlyArray<StoredPlan> | undefined,
  prorate: number | undefined,
  now: DateTime.Utc
): Patch<Pick<StoredSubscription, "planIds" | "prorated">> => {
  if (
    plans === undefined ||
    haveSameIds(
      planIds,
      plans.map(({ id }) => id)
    )
  )
    return {}
  const newPlans = { planIds: plans.map(({ id }) => id) }
  if (prorate === undefined) return { ...newPlans, prorated: null }
  const periodStart = Period.periodAt(quotaResetAnchor, renewalStrategy, now).start
  return { ...newPlans, prorated: { periodStart, share: prorate } }
}

type SubscriptionOperations = Omit<Operations<typeof SubscriptionsApi, SubscriptionsMethods>, keyof QuotaMethods>

/**
 * The operations on subscriptions: `list`, `create`, `get`, `update` and `remove`. Each takes one `OperationRequest`.
 * `Usage` has those on their quotas.
 */
export class Subscriptions extends Context.Service<Subscriptions, SubscriptionOperations>()(
  "@tollgate/core/metering/Subscriptions"
) {
  static readonly layer = Layer.effect(Subscriptions, make)
}
