/**
 * Reads a customer's subscriptions that allow usage, with their plans and the preconditions that detect later changes.
 */

import { type Entry, Partition } from "@tollgate/store/internal"
import { DateTime, Effect } from "effect"
import { type CreditAccount, type CustomerAccount, readCreditAccount } from "./Credit.ts"
import { assertCustomerUnchanged } from "./customerRecords.ts"
import * as Entitlement from "./Entitlement.ts"
import { combineFeatures, type FeatureSource, type Features } from "./Features.ts"
import type { MeteringBucket } from "./MeteringBucket.ts"
import { MeteringBucketNotFound } from "./MeteringBucketError.ts"
import { findMeteringBucket } from "./meteringBucketRecords.ts"
import { getPlanIds } from "./PendingChange.ts"
import type { StoredPlan } from "./Plan.ts"
import { planRecords, readPlans } from "./planRecords.ts"
import { consumingStatuses, type StoredSubscription } from "./Subscription.ts"
import { byCustomer, byStatus, findSubscription, subscriptionRecords } from "./subscriptionRecords.ts"
import { maxTrialEndStatusLength } from "./Trial.ts"

/** How many of a customer's newest subscriptions in one status are considered. */
const maxPerStatus = 20

export interface CustomerEntitlements {
  /**
   * For the subscriptions in a status that allows usage, newest first. The preconditions of each also fail if any other
   * subscription of the customer, a plan of a newer one, or one with features has changed.
   */
  readonly entitlements: ReadonlyArray<Entitlement.Entitlement>
  /** The number of subscriptions in any status. */
  readonly total: number
  /** Whether any of them has features. */
  readonly hasFeatures: boolean
  readonly credit?: Entitlement.CustomerCredit | undefined
  readonly alerts?: Entitlement.CustomerAlerts | undefined
  /** The features when they were last looked at: the same for most requests. */
  latestFeatures?: { readonly features: Features; readonly appliesFrom: number; readonly appliesUntil: number }
}

/** The features of all subscriptions that allow usage. Made once, until one of them has another period or status. */
export const featuresAt = (customer: CustomerEntitlements, now: DateTime.Utc): Features => {
  const { entitlements, latestFeatures: latest } = customer
  const { epochMilliseconds } = now
  if (latest !== undefined && latest.appliesFrom <= epochMilliseconds && epochMilliseconds < latest.appliesUntil) {
    return latest.features
  }
  const sources: Array<FeatureSource> = []
  let [appliesFrom, appliesUntil] = [0, Number.POSITIVE_INFINITY]
  for (const entitlement of entitlements) {
    const limits = Entitlement.limitsAt(entitlement, now)
    appliesFrom = Math.max(appliesFrom, limits.appliesFrom)
    appliesUntil = Math.min(appliesUntil, limits.appliesUntil)
    if (limits.canConsume) sources.push(...limits.features)
  }
  const features = combineFeatures(sources)
  customer.latestFeatures = { features, appliesFrom, appliesUntil }
  return features
}

/**
 * The newest subscription that allows usage and has all the meters, otherwise the newest that allows usage, if there is one.
 */
export const findUsable = (
  { entitlements }: CustomerEntitlements,
  meters: Readonly<Record<string, unknown>>,
  now: DateTime.Utc
): Entitlement.Entitlement | undefined => {
  let newest: Entitlement.Entitlement | undefined
  for (const entitlement of entitlements) {
    const limits = Entitlement.limitsAt(entitlement, now)
    if (!limits.canConsume) continue
    let hasMeters = true
    for (const meter in meters) hasMeters &&= limits.meters.has(meter)
    if (hasMeters) return entitlement
    newest ??= entitlement
  }
  return newest
}

/**
 * Drops the fields that quotas do not depend on, because they may be large and entitlements are cached. Truncates a
 * long `trialEndStatus`, but to one character more than the longest known value, so that it still matches none.
 */
const keepQuotaFields = (subscription: StoredSubscription): StoredSubscription => {
  const { metadata: _metadata, productKey: _productKey, trialEndStatus, ...value } = subscription
  return trialEndStatus === undefined
    ? value
    : { ...value, trialEndStatus: trialEndStatus.slice(0, maxTrialEndStatusLength + 1) }
}

/** The entitlements of subscriptions that were read, to show them: nothing detects later changes. */
export const toEntitlements = Effect.fnUntraced(function* (
  bucketEntry: Entry<MeteringBucket>,
  entries: ReadonlyArray<Entry<StoredSubscription>>
) {
  const planIds = [...new Set(entries.flatMap(({ value }) => getPlanIds(value)))]
  const plans = new Map<string, Entry<StoredPlan>>()
  for (const plan of yield* readPlans(bucketEntry.value.id, planIds)) plans.set(plan.value.id, plan)
  return entries.map((subscription) =>
    Entitlement.make(
      { bucketEntry, subscription, plans: getPlanIds(subscription.value).flatMap((id) => plans.get(id) ?? []) },
      []
    )
  )
})

/** The newest subscriptions of a customer whose stored status allows usage: some have changed by themselves since. */
export const readConsumingSubscriptions = Effect.fnUntraced(function* (bucketId: string, customerKey: string) {
  const where = [byCustomer(customerKey)]
  const [all, ...byStatuses] = yield* subscriptionRecords.pages(Partition.forMeteringBucket(bucketId), [
    { where, offset: 0, limit: 0 },
    ...consumingStatuses.map((status) => ({
      where: [...where, byStatus(status)],
      offset: 0,
      limit: maxPerStatus,
      descending: true
    }))
  ])
  const entries = byStatuses
    .flatMap(({ entries }) => entries)
    // Newest first, also among subscriptions of one status that were created in the same millisecond: sorting is stable.
    .sort((left, right) => DateTime.Order(right.value.createdOn, left.value.createdOn))
  return { entries, total: all?.total ?? 0 }
})

/** Reads the entitlements of a customer. Fails if the metering bucket belongs to another account. */
export const readEntitlements = Effect.fnUntraced(function* (
  accountName: string,
  bucketId: string,
  customerKey: string
) {
  const bucketEntry = yield* findMeteringBucket(bucketId)
  if (bucketEntry.value.accountName !== accountName) return yield* new MeteringBucketNotFound({ bucketId })
  const account = yield* readCreditAccount(Partition.forMeteringBucket(bucketId), customerKey)
  return yield* readCustomerEntitlements(bucketEntry, account)
})

/** The entitlements of a customer whose version was read before. */
const readCustomerEntitlements = Effect.fnUntraced(function* (
  bucketEntry: Entry<MeteringBucket>,
  account: CustomerAccount
) {
  const bucketId = bucketEntry.value.id
  const { customerKey } = account.customer
  const { entries, total } = yield* readConsumingSubscriptions(bucketId, customerKey)
  const subscriptions = entries.map(({ value, version }) => ({ value: keepQuotaFields(value), version }))
  const plans = new Map<string, Entry<StoredPlan>>()
  const planIds = [...new Set(subscriptions.flatMap(({ value }) => getPlanIds(value)))]
  for (const plan of yield* readPlans(bucketId, planIds)) plans.set(plan.value.id, plan)
  const getPlans = (ids: ReadonlyArray<string>) => ids.flatMap((id) => plans.get(id) ?? [])
  // Features are those of all subscriptions.
  const checkedPlanIds = new Set<string>([...plans.values()].flatMap(({ value }) => (value.features ? [value.id] : [])))
  const entitlements: Array<Entitlement.Entitlement> = []
  const credit = toCustomerCredit(account, entitlements)
  const alerts = account.alerts && { stored: account.alerts, customer: account.customer, entitlements }
  for (const subscription of subscriptions) {
    const ownPlanIds: ReadonlyArray<string> = getPlanIds(subscription.value)
    const preconditions = [
      // It was read before the subscriptions, and changes with each of them.
      assertCustomerUnchanged(account.customer),
      // A newer subscription is passed over if its plans lack a meter, so a change of these plans changes the choice.
      ...getPlans([...checkedPlanIds].filter((id) => !ownPlanIds.includes(id))).map(planRecords.assertUnchanged)
    ]
    for (const id of ownPlanIds) checkedPlanIds.add(id)
    entitlements.push(
      Entitlement.make({ bucketEntry, subscription, plans: getPlans(ownPlanIds), credit, alerts }, preconditions)
    )
  }
  const hasFeatures = entitlements.some(Entitlement.hasFeatures)
  const customer: CustomerEntitlements = { entitlements, total, hasFeatures, credit, alerts }
  return customer
})

const toCustomerCredit = (
  { customer, credit }: CreditAccount,
  entitlements: ReadonlyArray<Entitlement.Entitlement>
): Entitlement.CustomerCredit | undefined => {
  if (credit === undefined) return undefined
  const settledOn = Math.max(0, ...Object.values(credit.value.meters).map((meter) => meter.settledOn))
  return { account: { customer, credit }, entitlements, settledOn }
}

/** Reads the entitlement of a subscription. The version of its customer stands for that of the subscription. */
export const readEntitlement = Effect.fnUntraced(function* (bucketId: string, subscriptionId: string) {
  const bucketEntry = yield* findMeteringBucket(bucketId)
  const { customerKey } = (yield* findSubscription(bucketId, subscriptionId)).value
  const account = yield* readCreditAccount(Partition.forMeteringBucket(bucketId), customerKey)
  // Credit and alerts are those of the newest subscription, so all are looked at.
  const customer = (account.credit ?? account.alerts) && (yield* readCustomerEntitlements(bucketEntry, account))
  const found = customer?.entitlements.find(({ subscription }) => subscription.value.id === subscriptionId)
  if (found !== undefined) return found
  // Read again, after the version of the customer.
  const { value, version } = yield* findSubscription(bucketId, subscriptionId)
  const plans = yield* readPlans(bucketId, getPlanIds(value))
  const subscription = { value: keepQuotaFields(value), version }
  const records = { bucketEntry, subscription, plans, credit: customer?.credit, alerts: customer?.alerts }
  return Entitlement.make(records, [assertCustomerUnchanged(account.customer)])
})
