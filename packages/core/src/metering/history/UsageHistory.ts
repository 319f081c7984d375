/**
 * Usage over time: of a subscription, from its ledger and what was rolled up, and of a whole metering bucket, from the
 * counters of its days.
 */

import {
  forEachInPieces,
  type InvalidInput,
  invalidParameter,
  Partition,
  Store,
  type StoreError,
  TrustedClock,
  toPage
} from "@tollgate/store/internal"
import { Context, DateTime, Effect, Layer } from "effect"
import { implementOperations } from "../../api/implementOperations.ts"
import type { Operations } from "../../api/Operations.ts"
import { wholeBucket } from "../groups/groupRecords.ts"
import { type GroupsOfDay, readGroups } from "../groups/readGroups.ts"
import { readCounters } from "../ledger/readUsage.ts"
import { getMonth, toDay, toHour } from "../model/clockSteps.ts"
import { readEntitlement } from "../model/customerEntitlements.ts"
import * as Entitlement from "../model/Entitlement.ts"
import { findMeteringBucket } from "../model/meteringBucketRecords.ts"
import { getNames, readMeters } from "../model/meterRecords.ts"
import { type PeriodKind, parseId, toId } from "../model/Period.ts"
import { UnknownMeter } from "../model/QuotaError.ts"
import { getUsageId } from "../model/Subscription.ts"
import { daysOfDay, daysOfMonth } from "../model/SubscriptionUsage.ts"
import { type GroupBy, getUnknown } from "../model/UsageGroup.ts"
import type { UsageSeries, UsageStep } from "../model/UsageSeries.ts"
import { getDayCounter, getTakenBackCounter } from "../model/usageCounters.ts"
import { UsageApi, type UsageMethods } from "../usage/UsageApi.ts"
import { readSubscriptionUsage, type SubscriptionUsage } from "./readSubscriptionUsage.ts"
import { days, hours, periodsOf, resolveRange, type SeriesRange } from "./seriesRange.ts"
import { makeTopCustomers } from "./topCustomers.ts"
import { readUsageOfDays } from "./usageOfDays.ts"

/** Maximum numbers in a series: the default of 30 steps of 1,000 meters, or 400 days of 100. */
const maxValues = 40_000

/** The meters of a series: all, or the requested one. */
const selectMeters = Effect.fnUntraced(function* (
  names: ReadonlySet<string>,
  meter: string | undefined,
  { steps }: SeriesRange
) {
  if (meter !== undefined) return names.has(meter) ? [meter] : yield* new UnknownMeter({ meter })
  if (names.size * steps.length > maxValues) {
    return yield* invalidParameter(
      "meter",
      `is required, because ${names.size} meters in ${steps.length} steps are more than ${maxValues} numbers. ` +
        "Name one meter, or ask for fewer steps with from and to"
    )
  }
  return [...names].sort()
})

/** The kind of the periods of a series: that of the meter, if one is named. One series cannot have several. */
const selectKind = (
  { meters }: Entitlement.PeriodLimits,
  meter: string | undefined
): Effect.Effect<PeriodKind | undefined, InvalidInput> => {
  const others = [...meters].filter(([, { otherPeriod }]) => otherPeriod !== undefined)
  if (meter === undefined && others.length > 0) {
    const names = others.map(([name]) => name).join(", ")
    return Effect.fail(invalidParameter("meter", `is required, because meters have periods of their own: ${names}`))
  }
  const { otherPeriod } = others.find(([name]) => name === meter)?.[1] ?? {}
  const { kind } = parseId(otherPeriod?.id ?? 0)
  return kind === "none"
    ? Effect.fail(invalidParameter("step", `must be hour or day, because the period of "${meter}" never ends`))
    : Effect.succeed(kind)
}

/** Returns how much of a meter was used in the step that starts at a time: the number at an index of the series. */
type ReadStep = (meter: string, start: number, index: number) => number

const toSeries = (
  step: UsageStep,
  { from, to, steps }: SeriesRange,
  meters: ReadonlyArray<string>,
  read: ReadStep
): Effect.Effect<UsageSeries> =>
  Effect.map(
    forEachInPieces(steps, ({ start, end }, stepIndex) =>
      Effect.sync(() => ({
        start: DateTime.makeUnsafe(start),
        end: DateTime.makeUnsafe(end),
        meters: Object.fromEntries(
          meters.map((meter, index) => [meter, read(meter, start, stepIndex * meters.length + index)])
        )
      }))
    ),
    (data) => ({ step, from: DateTime.makeUnsafe(from), to: DateTime.makeUnsafe(to), data })
  )

/** Adds groups to a series, and what is left without them. */
const addGroups = (
  series: UsageSeries,
  { groupBy, groups }: SeriesGroups
): Effect.Effect<UsageSeries, InvalidInput> => {
  const numbers = groups.reduce(
    (sum, day) => day.groups.reduce((sum, { meters }) => sum + Object.keys(meters).length, sum),
    0
  )
  if (numbers > maxValues) {
    const detail = `is required, because the groups have ${numbers} numbers, which are more than ${maxValues}. Name one meter, or ask for fewer days with from and to`
    return Effect.fail(invalidParameter("meter", detail))
  }
  const data = series.data.map((step, index) => {
    const { groups: ofDay, other } = groups[index] ?? { groups: [], other: {} }
    return {
      ...step,
      groups: ofDay,
      other,
      unknown: getUnknown(step.meters, [...ofDay.map(({ meters }) => meters), other])
    }
  })
  return Effect.succeed({ ...series, groupBy, data })
}

interface SeriesGroups {
  readonly groupBy: GroupBy
  /** Of each day. */
  readonly groups: ReadonlyArray<GroupsOfDay>
}

const daysOfRange = ({ steps }: SeriesRange): ReadonlyArray<number> => steps.map(({ start }) => toDay(start))

const readStep: Readonly<Record<UsageStep, (usage: SubscriptionUsage) => ReadStep>> = {
  hour: (usage) => (meter, start) => usage.inHour(meter, toHour(start)),
  day: (usage) => (meter, start) => usage.inDay(meter, toDay(start)),
  period: (usage) => usage.inPeriod
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const trustedClock = yield* TrustedClock

  const readTopCustomers = makeTopCustomers(store, trustedClock)

  const readSeries: ReadSeries = Effect.fnUntraced(
    function* (bucketId, entitlement, { step = "day", from, to, meter, groupBy }) {
      if (groupBy !== undefined && step !== "day")
        return yield* invalidParameter("step", "must be day with groupBy: usage by key and label is kept by day")
      const usageId = getUsageId(entitlement.subscription.value)
      const now = yield* trustedClock.now
      const limits = Entitlement.limitsAt(entitlement, now)
      const { meters } = limits
      const kind = step === "period" ? yield* selectKind(limits, meter) : undefined
      const division = { hour: hours, day: days, period: periodsOf(entitlement.subscription.value, kind) }[step]
      const range = yield* resolveRange(division, { from, to }, DateTime.toEpochMillis(now))
      // Before the totals, which have at least what the groups have then.
      const groups =
        groupBy === undefined ? [] : yield* readGroups(bucketId, usageId, groupBy, daysOfRange(range), meter)
      const present = periodsOf(entitlement.subscription.value, kind).stepAt(DateTime.toEpochMillis(now)).start
      const current = { start: toId(kind, present), meters: [...meters.keys()] }
      const partition = Partition.forMeteringBucket(bucketId)
      const usage = yield* readSubscriptionUsage(partition, usageId, { kind, current })
      const names = yield* selectMeters(new Set([...meters.keys(), ...usage.meters]), meter, range)
      const series = yield* toSeries(step, range, names, readStep[step](usage))
      return groupBy === undefined ? series : yield* addGroups(series, { groupBy, groups })
    },
    Effect.provideService(Store, store)
  )

  return UsageHistory.of({
    ...implementOperations(UsageApi, { store })({
      series: Effect.fnUntraced(function* ({ params: { bucketId, subscriptionId }, query = {} }) {
        return yield* readSeries(bucketId, yield* readEntitlement(bucketId, subscriptionId), query)
      }),

      totals: Effect.fnUntraced(function* ({ params: { bucketId }, query = {} }) {
        const { from, to, meter, groupBy } = query
        yield* findMeteringBucket(bucketId)
        const partition = Partition.forMeteringBucket(bucketId)
        const range = yield* resolveRange(days, { from, to }, DateTime.toEpochMillis(yield* trustedClock.now))
        const names = yield* selectMeters(new Set(getNames(yield* readMeters(partition))), meter, range)
        const groups =
          groupBy === undefined ? [] : yield* readGroups(bucketId, wholeBucket, groupBy, daysOfRange(range), meter)
        const read = (getCounter: typeof getDayCounter) =>
          readCounters(partition, range.steps.length * names.length, (index) => {
            const { start = 0 } = range.steps[Math.floor(index / names.length)] ?? {}
            return getCounter(names[index % names.length] ?? "", toDay(start))
          })
        const [counted, takenBack] = [yield* read(getDayCounter), yield* read(getTakenBackCounter)]
        const readDay: ReadStep = (_meter, _start, index) => (counted[index] ?? 0) - (takenBack[index] ?? 0)
        const series = yield* toSeries("day", range, names, readDay)
        return groupBy === undefined ? series : yield* addGroups(series, { groupBy, groups })
      }),

      top: Effect.fnUntraced(function* ({ params: { bucketId }, query: { meter, day, month } }) {
        if (day !== undefined && month !== undefined)
          return yield* invalidParameter("day", "cannot be combined with month")
        yield* findMeteringBucket(bucketId)
        const names = getNames(yield* readMeters(Partition.forMeteringBucket(bucketId)))
        if (!names.includes(meter)) return yield* new UnknownMeter({ meter })
        const present = getMonth(toDay(DateTime.toEpochMillis(yield* trustedClock.now)))
        return yield* readTopCustomers(
          bucketId,
          meter,
          day === undefined ? daysOfMonth(month ?? present) : daysOfDay(day)
        )
      }),

      export: Effect.fnUntraced(function* ({ params: { bucketId }, query: { month, ...request } }) {
        yield* findMeteringBucket(bucketId)
        const { data, ...page } = yield* readUsageOfDays(bucketId, daysOfMonth(month), request)
        return toPage(request, page, data)
      })
    }),
    readSeries
  })
})

/** What a series of a subscription has. */
export interface SeriesQuery {
  readonly step?: UsageStep
  readonly from?: DateTime.Utc
  readonly to?: DateTime.Utc
  readonly meter?: string
  readonly groupBy?: GroupBy
}

type ReadSeries = (
  bucketId: string,
  entitlement: Entitlement.Entitlement,
  query: SeriesQuery
) => Effect.Effect<UsageSeries, StoreError | InvalidInput | UnknownMeter>

/**
 * The operations that read usage over time: `series`, `totals`, `top` and `export`. Each takes one `OperationRequest`. `readSeries` serves
 * the operations on customers.
 */
export class UsageHistory extends Context.Service<
  UsageHistory,
  Pick<Operations<typeof UsageApi, UsageMethods>, "series" | "totals" | "top" | "export"> & {
    readonly readSeries: ReadSeries
  }
>()("@tollgate/core/metering/UsageHistory") {
  static readonly layer = Layer.effect(UsageHistory, make)
}
