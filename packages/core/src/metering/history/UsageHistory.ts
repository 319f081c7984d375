/**
 * Usage over time: of a subscription, from its ledger and what was rolled up, and of a whole metering bucket, from the
 * counters of its days.
 */
import { Context, DateTime, Effect, Layer } from "effect"
import { implementOperations } from "../../api/implementOperations.ts"
import type { Operations } from "../../api/Operations.ts"
import { TrustedClock } from "../../runtime/TrustedClock.ts"
import { forEachInPieces } from "../../runtime/turns.ts"
import { invalidParameter } from "../../schema/InvalidInput.ts"
import * as Partition from "../../store/Partition.ts"
import { Store } from "../../store/Store.ts"
import { readCounters } from "../ledger/readUsage.ts"
import { toDay, toHour } from "../model/clockSteps.ts"
import { readEntitlement } from "../model/customerEntitlements.ts"
import * as Entitlement from "../model/Entitlement.ts"
import { findMeteringBucket } from "../model/meteringBucketRecords.ts"
import { getNames, readMeters } from "../model/meterRecords.ts"
import { UnknownMeter } from "../model/QuotaError.ts"
import type { UsageSeries, UsageStep } from "../model/UsageSeries.ts"
import { getDayCounter } from "../model/usageCounters.ts"
import { UsageApi, type UsageMethods } from "../usage/UsageApi.ts"
import { readSubscriptionUsage, type SubscriptionUsage } from "./readSubscriptionUsage.ts"
import { days, hours, periodsOf, resolveRange, type SeriesRange } from "./seriesRange.ts"

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

const readStep: Readonly<Record<UsageStep, (usage: SubscriptionUsage) => ReadStep>> = {
  hour: (usage) => (meter, start) => usage.inHour(meter, toHour(start)),
  day: (usage) => (meter, start) => usage.inDay(meter, toDay(start)),
  period: (usage) => usage.inPeriod
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const trustedClock = yield* TrustedClock

  return UsageHistory.of(
    implementOperations(UsageApi, { store })({
      series: Effect.fnUntraced(function* ({ params: { bucketId, subscriptionId }, query = {} }) {
        const { step = "day", from, to, meter } = query
        const entitlement = yield* readEntitlement(bucketId, subscriptionId)
        const now = yield* trustedClock.now
        const { period, meters } = Entitlement.limitsAt(entitlement, now)
        const division = { hour: hours, day: days, period: periodsOf(entitlement.subscription.value) }[step]
        const range = yield* resolveRange(division, { from, to }, DateTime.toEpochMillis(now))
        const current = { start: DateTime.toEpochMillis(period.start), meters: [...meters.keys()] }
        const usage = yield* readSubscriptionUsage(Partition.forMeteringBucket(bucketId), subscriptionId, current)
        const names = yield* selectMeters(new Set([...meters.keys(), ...usage.meters]), meter, range)
        return yield* toSeries(step, range, names, readStep[step](usage))
      }),

      totals: Effect.fnUntraced(function* ({ params: { bucketId }, query = {} }) {
        const { from, to, meter } = query
        yield* findMeteringBucket(bucketId)
        const partition = Partition.forMeteringBucket(bucketId)
        const range = yield* resolveRange(days, { from, to }, DateTime.toEpochMillis(yield* trustedClock.now))
        const names = yield* selectMeters(new Set(getNames(yield* readMeters(partition))), meter, range)
        const values = yield* readCounters(partition, range.steps.length * names.length, (index) => {
          const { start = 0 } = range.steps[Math.floor(index / names.length)] ?? {}
          return getDayCounter(names[index % names.length] ?? "", toDay(start))
        })
        return yield* toSeries("day", range, names, (_meter, _start, index) => values[index] ?? 0)
      })
    })
  )
})

/** The operations that read usage over time: `series` and `totals`. Each takes one `OperationRequest`. */
export class UsageHistory extends Context.Service<
  UsageHistory,
  Pick<Operations<typeof UsageApi, UsageMethods>, "series" | "totals">
>()("@tollgate/core/metering/UsageHistory") {
  static readonly layer = Layer.effect(UsageHistory, make)
}
