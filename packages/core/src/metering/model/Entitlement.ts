/**
 * What a subscription may consume: its plans' limits as they were read, and the preconditions that make a commit fail
 * if they have changed since.
 */

import { type Change, type Entry, omitUndefined, Partition } from "@tollgate/store/internal"
import { DateTime } from "effect"
import { type RateLimitPolicy, selectHigher, toPolicy } from "../../rateLimits/RateLimit.ts"
import { makeTake, type RateLimitTake } from "../../rateLimits/RateLimitTake.ts"
import type { StoredAlerts } from "./alertRecords.ts"
import { type CreditAccount, getMeterCredit, type StoredCredit, toTerms } from "./Credit.ts"
import { addCredit, type CreditTerms } from "./creditTerms.ts"
import type { CustomerVersion } from "./customerRecords.ts"
import { floorProduct } from "./decimalProduct.ts"
import { type FeatureSource, overrideFeatures } from "./Features.ts"
import type { MeteringBucket } from "./MeteringBucket.ts"
import { meteringBucketRecords } from "./meteringBucketRecords.ts"
import { type CombinedLimit, overrideLimit, overrideRateLimits } from "./Overrides.ts"
import * as Period from "./Period.ts"
import type { PlanLimit, StoredPlan } from "./Plan.ts"
import { planRecords } from "./planRecords.ts"
import { getPeriodId, type ReservedPeriods } from "./reservedPeriods.ts"
import { canConsume, getUsageId, type StoredSubscription } from "./Subscription.ts"
import { subscriptionAt } from "./subscriptionAt.ts"
import * as Trial from "./Trial.ts"
import { toUsedSubscription, type UsedSubscription } from "./UsedSubscription.ts"
import { getUsedCounter, usageTtlMs } from "./usageCounters.ts"

export interface Entitlement {
  /** The partition of the metering bucket. */
  readonly partition: Partition.Partition
  readonly bucketEntry: Entry<MeteringBucket>
  readonly subscription: Entry<StoredSubscription>
  /** The limits of each plan, by meter. */
  readonly planLimits: ReadonlyArray<ReadonlyMap<string, PlanLimit>>
  /** The features of the plans, and what the subscription has instead. */
  readonly features: ReadonlyArray<FeatureSource>
  /** Takes one request from each rate limit of the plans. */
  readonly rateLimitTakes: ReadonlyArray<RateLimitTake>
  /** What it becomes by its pending change. `limitsAt` looks at it. */
  readonly later?: { readonly from: number; readonly entitlement: Entitlement }
  /** What grants give the customer, if it ever had any. */
  readonly credit?: CustomerCredit | undefined
  /** The alerts of the customer, if it has any. */
  readonly alerts?: CustomerAlerts | undefined
  /** Bucket, plans and subscription have not changed since they were read. For the subscription, its customer may stand. */
  readonly preconditions: ReadonlyArray<Change>
  /** What applied when it was last looked at: the same for most requests. */
  latestLimits?: PeriodLimits
}

/** The credit of a customer, and the subscriptions of which the newest that has a meter spends that of the meter. */
export interface CustomerCredit {
  readonly account: CreditAccount & { readonly credit: Entry<StoredCredit> }
  /** Newest first. */
  readonly entitlements: ReadonlyArray<Entitlement>
  /** A process whose clock is behind counts as of then, in epoch milliseconds. */
  readonly settledOn: number
  /** When the segments were last looked at, and found to be those that are to be counted in. */
  settledUntil?: { readonly from: number; readonly until: number }
}

/** The alerts of a customer, and the subscriptions of which the newest that has a meter counts. */
export interface CustomerAlerts {
  readonly stored: Entry<StoredAlerts>
  readonly customer: CustomerVersion
  /** Newest first. */
  readonly entitlements: ReadonlyArray<Entitlement>
}

/** The approximate size of an entitlement in memory, in bytes. */
export const estimateSize = ({
  subscription,
  planLimits,
  features,
  preconditions,
  rateLimitTakes,
  later,
  alerts
}: Entitlement): number =>
  (later === undefined ? 0 : estimateSize(later.entitlement)) +
  1_000 +
  500 * (alerts?.stored.value.alerts.length ?? 0) +
  200 * Object.keys(subscription.value.overrides?.meters ?? {}).length +
  200 * preconditions.length +
  500 * rateLimitTakes.length +
  600 * features.reduce((sum, { features }) => sum + Object.keys(features).length, 0) +
  100 * planLimits.reduce((meters, { size }) => meters + size, 0)

interface EntitlementRecords {
  readonly bucketEntry: Entry<MeteringBucket>
  readonly subscription: Entry<StoredSubscription>
  /** Also those of its pending change. */
  readonly plans: ReadonlyArray<Entry<StoredPlan>>
  readonly credit?: CustomerCredit | undefined
  readonly alerts?: CustomerAlerts | undefined
}

/** The rate limits of all plans. Of several with the same name, the highest counts, unless the subscription overrides it. */
const combineRateLimits = (
  plans: ReadonlyArray<Entry<StoredPlan>>,
  { overrides }: StoredSubscription
): ReadonlyArray<RateLimitPolicy> => {
  const policies = new Map<string, RateLimitPolicy>()
  for (const { value } of plans) {
    for (const [name, rateLimit] of Object.entries(value.rateLimits ?? {})) {
      const policy = toPolicy(name, rateLimit)
      policies.set(name, selectHigher(policies.get(name) ?? policy, policy))
    }
  }
  if (overrides !== undefined) overrideRateLimits(policies, overrides)
  return [...policies.values()]
}

/**
 * Keeps only the limits of the plans, because entitlements are cached. `preconditions` make a commit fail if the
 * subscription has changed, or what led to it.
 */
export const make = (records: EntitlementRecords, preconditions: ReadonlyArray<Change>): Entitlement => {
  const { bucketEntry, subscription, plans } = records
  const all = [
    meteringBucketRecords.assertUnchanged(bucketEntry),
    ...plans.map(planRecords.assertUnchanged),
    ...preconditions
  ]
  const { pendingChange } = subscription.value
  const present = makeWithout(records, all)
  if (pendingChange === undefined) return present
  const { effectiveOn } = pendingChange
  const later = { value: subscriptionAt(subscription.value, effectiveOn), version: subscription.version }
  return {
    ...present,
    later: { from: effectiveOn.epochMilliseconds, entitlement: makeWithout({ ...records, subscription: later }, all) }
  }
}

/** Whether it has features now or by its pending change. */
export const hasFeatures = ({ features, later }: Entitlement): boolean =>
  features.length > 0 || (later !== undefined && hasFeatures(later.entitlement))

/** The entitlement without what becomes of it. */
const makeWithout = (
  { bucketEntry, subscription, plans, credit, alerts }: EntitlementRecords,
  preconditions: ReadonlyArray<Change>
): Entitlement => {
  const own = subscription.value.planIds.flatMap((id) => plans.filter(({ value }) => value.id === id))
  return {
    partition: Partition.forMeteringBucket(bucketEntry.value.id),
    bucketEntry,
    subscription,
    planLimits: own.map(
      ({ value }) => new Map(Object.entries(value.meters).map(([meter, { label: _, ...limit }]) => [meter, limit]))
    ),
    features: overrideFeatures(
      own.flatMap(({ value: { features, createdOn } }) =>
        features === undefined ? [] : [{ features, createdOn: createdOn.epochMilliseconds }]
      ),
      subscription.value.overrides?.features
    ),
    rateLimitTakes: combineRateLimits(own, subscription.value).map((policy) =>
      makeTake(policy, "subscription", getUsageId(subscription.value), 1)
    ),
    credit,
    alerts,
    preconditions
  }
}

/** The share of the limits that applies in a period; 1 unless the subscription is prorated in it. */
const getProratedShare = ({ prorated }: StoredSubscription, { start }: Period.Period): number =>
  prorated !== undefined && DateTime.Equivalence(prorated.periodStart, start) ? prorated.share : 1

/** What applies to a meter in its period. */
export interface MeterLimit {
  /** What the plans allow, less what is prorated. */
  readonly max: number
  /** What the counter may reach: `max`, with a soft limit or grants more. `undefined`: anything. */
  readonly limit: number | undefined
  readonly counter: string
  readonly periodId: Period.PeriodId
  /** Its period, if it is not that of the subscription. */
  readonly otherPeriod?: Period.MeterPeriod | undefined
  readonly credit?: MeterLimitCredit | undefined
}

/** What grants give and gave of a meter in its period. */
export interface MeterLimitCredit extends CreditTerms {
  /** The open segment, if it is this meter that it counts. */
  readonly segment?: number | undefined
  /** What the grant has left that is spent first. */
  readonly first: number
}

/** What applies in a period: the limit and the usage counter of each meter, and the status of the subscription. */
export interface PeriodLimits {
  /** The period of the subscription, and of all meters that have no other. */
  readonly period: Period.Period
  readonly meters: ReadonlyMap<string, MeterLimit>
  readonly subscription: UsedSubscription
  /** The id under which its usage is counted. */
  readonly usageId: string
  readonly features: ReadonlyArray<FeatureSource>
  /** Takes one request from each rate limit of the plans. */
  readonly rateLimitTakes: ReadonlyArray<RateLimitTake>
  /** Whether its status allows usage. */
  readonly canConsume: boolean
  /** Epoch milliseconds. A trial that ends divides its period. */
  readonly appliesFrom: number
  readonly appliesUntil: number
}

/** Counters outlive their period by a day, because the clocks of other processes may be behind. */
const counterGracePeriodMs = 24 * 60 * 60 * 1000

/** How long the counters of notified thresholds in a period are kept, in milliseconds from now. */
export const getCounterTtl = ({ end }: { readonly end: DateTime.Utc | undefined }, now: DateTime.Utc): number =>
  end === undefined ? usageTtlMs : DateTime.toEpochMillis(end) - DateTime.toEpochMillis(now) + counterGracePeriodMs

/**
 * The current period and what applies in it. Made once, until the period or the trial ends. A process whose clock is behind
 * counts as of when the sources of credit changed last, unless the time is a past one on purpose.
 */
export const limitsAt = (entitlement: Entitlement, time: DateTime.Utc, isPast = false): PeriodLimits => {
  const { latestLimits: latest, credit } = entitlement
  const isBehind = credit !== undefined && !isPast && time.epochMilliseconds < credit.settledOn
  const now = isBehind ? DateTime.makeUnsafe(credit.settledOn) : time
  const { epochMilliseconds } = now
  if (latest !== undefined && latest.appliesFrom <= epochMilliseconds && epochMilliseconds < latest.appliesUntil) {
    return latest
  }
  const { later } = entitlement
  if (later !== undefined && later.from <= epochMilliseconds) {
    // The periods of the subscription divide at this time, so these limits do not apply to an earlier one.
    const limits = limitsAt(later.entitlement, now, isPast)
    entitlement.latestLimits = limits
    return limits
  }
  const subscription = entitlement.subscription.value
  const { quotaResetAnchor, renewalStrategy } = subscription
  const period = Period.periodAt(quotaResetAnchor, renewalStrategy, now)
  const meters = computeLimits(entitlement, period, now)
  const trialEnd = Trial.getEnd(subscription)
  const isTrialOver = trialEnd <= epochMilliseconds
  let [start, end] = [DateTime.toEpochMillis(period.start), DateTime.toEpochMillis(period.end)]
  for (const { otherPeriod } of meters.values()) {
    if (otherPeriod === undefined) continue
    start = Math.max(start, otherPeriod.start.epochMilliseconds)
    end = Math.min(end, otherPeriod.end?.epochMilliseconds ?? end)
  }
  const { status } = Trial.withStatusAt(now, subscription)
  const limits = {
    period,
    meters,
    subscription: toUsedSubscription(subscription, status),
    usageId: getUsageId(subscription),
    features: entitlement.features,
    rateLimitTakes: entitlement.rateLimitTakes,
    canConsume: canConsume(status),
    appliesFrom: isTrialOver ? Math.max(start, trialEnd) : start,
    appliesUntil: isTrialOver ? end : Math.min(end, trialEnd)
  }
  entitlement.latestLimits = limits
  return limits
}

interface PeriodicLimit extends CombinedLimit {
  readonly kind: Period.PeriodKind | undefined
}

/**
 * The limit of each meter: the sum over the plans, each rounded down, and prorated if the meter has the period of the
 * subscription. If a plan got a meter with another period later than the subscription, the first plan with the meter counts.
 * What the subscription overrides is not prorated.
 */
const combineLimits = (
  { subscription, planLimits }: Entitlement,
  share: number
): ReadonlyMap<string, PeriodicLimit> => {
  const limits = new Map<string, PeriodicLimit>()
  for (const plan of planLimits) {
    for (const [meter, { max, period, isSoftLimit = false, overageMax = Number.POSITIVE_INFINITY }] of plan) {
      const kind = Period.toOtherKind(period, subscription.value)
      const limit = limits.get(meter) ?? { kind, max: 0, isSoft: false, overageMax: 0 }
      limits.set(meter, limit)
      if (limit.kind !== kind) continue
      limit.max = Math.min(limit.max + floorProduct(max, kind === undefined ? share : 1), Number.MAX_SAFE_INTEGER)
      limit.isSoft ||= isSoftLimit
      if (isSoftLimit) limit.overageMax += Math.floor(overageMax)
    }
  }
  for (const [meter, override] of Object.entries(subscription.value.overrides?.meters ?? {})) {
    const limit = overrideLimit(limits.get(meter), override, makeOwnLimit)
    if (limit !== undefined) limits.set(meter, limit)
  }
  return limits
}

/** A meter that no plan has. It has the period of the subscription. */
const makeOwnLimit = (): PeriodicLimit => ({ kind: undefined, max: 0, isSoft: false, overageMax: 0 })

/** What a counter may reach; `undefined` if nothing stops it. */
const toLimit = ({ max, isSoft, overageMax }: CombinedLimit): number | undefined => {
  if (!isSoft) return max
  return Number.isFinite(overageMax) ? Math.min(max + overageMax, Number.MAX_SAFE_INTEGER) : undefined
}

const computeLimits = (
  entitlement: Entitlement,
  period: Period.Period,
  now: DateTime.Utc
): ReadonlyMap<string, MeterLimit> => {
  const subscription = entitlement.subscription.value
  const meters = new Map<string, MeterLimit>()
  for (const [meter, combined] of combineLimits(entitlement, getProratedShare(subscription, period))) {
    const { kind, max } = combined
    const otherPeriod = kind === undefined ? undefined : Period.otherPeriodAt(kind, subscription, now)
    const periodId = otherPeriod?.id ?? period.start.epochMilliseconds
    const counter = getUsedCounter(getUsageId(subscription), meter, periodId)
    const limit = { max, limit: toLimit(combined), counter, periodId, otherPeriod }
    const credit = entitlement.credit && toLimitCredit(entitlement.credit, meter, counter)
    meters.set(
      meter,
      credit === undefined
        ? limit
        : { ...limit, limit: limit.limit === undefined ? undefined : addCredit(limit.limit, credit), credit }
    )
  }
  return meters
}

const toLimitCredit = ({ account }: CustomerCredit, meter: string, counter: string): MeterLimitCredit | undefined => {
  const stored = getMeterCredit(account.credit.value, meter)
  const terms = stored && toTerms(stored, counter)
  if (stored === undefined || terms === undefined) return undefined
  if (stored.open?.counter !== counter) return { ...terms, first: Number.POSITIVE_INFINITY }
  const { number, sources } = stored.open
  return { ...terms, segment: number, first: sources[0]?.amount ?? Number.POSITIVE_INFINITY }
}

/** What applies to a meter of a customer: the limits of the newest subscription that allows usage and has it. */
export const findMeter = (
  entitlements: ReadonlyArray<Entitlement>,
  meter: string,
  now: DateTime.Utc
): { readonly entitlement: Entitlement; readonly limits: PeriodLimits; readonly limit: MeterLimit } | undefined => {
  for (const entitlement of entitlements) {
    const limits = limitsAt(entitlement, now)
    const limit = limits.canConsume ? limits.meters.get(meter) : undefined
    if (limit !== undefined) return { entitlement, limits, limit }
  }
  return undefined
}

/** The limits of meters in periods that may be over: those in which a reservation was made. */
export const limitsIn = (
  entitlement: Entitlement,
  { meters: amounts, ...periods }: ReservedPeriods & { readonly meters: Readonly<Record<string, number>> }
): PeriodLimits => {
  const subscription = entitlement.subscription.value
  const limits = limitsAt(entitlement, DateTime.makeUnsafe(periods.periodStart), true)
  const meters = new Map<string, MeterLimit>()
  for (const meter in amounts) {
    const periodId = getPeriodId(periods, meter)
    const { max = 0, limit = 0 } = limits.meters.get(meter) ?? {}
    const counter = getUsedCounter(getUsageId(subscription), meter, periodId)
    const period = typeof periodId === "number" ? undefined : Period.fromId(periodId, subscription)
    const otherPeriod = period && { id: periodId, start: period.start, ...omitUndefined({ end: period.end }) }
    const credit = entitlement.credit && toLimitCredit(entitlement.credit, meter, counter)
    meters.set(meter, { max, limit, counter, periodId, otherPeriod, credit })
  }
  return { ...limits, meters }
}
