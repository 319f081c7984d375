/**
 * What Tollgate says about the usage of subscriptions, in a form that can be compared with a model: amounts by
 * subscription, meter and start of a step. Amounts of 0 are left out.
 */
import { DateTime } from "effect"
import { type MeteredSubscription, start, type UsageGate } from "./usageGate.ts"

export interface UsageReadings {
  /** With the pending changes. */
  readonly statuses: Readonly<Record<string, string>>
  /** The maximum and what is used in the present period. */
  readonly quotas: Readonly<Record<string, readonly [max: number, used: number]>>
  readonly hours: Readonly<Record<string, number>>
  readonly days: Readonly<Record<string, number>>
  readonly periods: Readonly<Record<string, number>>
  /** By day, of the whole metering bucket. */
  readonly totals: Readonly<Record<string, number>>
}

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs
const [keptHours, keptDays] = [192, 400]
/** Of periods of a meter that are hours or days, so many are kept. */
const keptPeriods = 400

/** The earliest period of a meter that a series can have at a time. */
export const getEarliestPeriod = (meter: string, now: number): number => {
  const length = { calls: hourMs, jobs: dayMs }[meter]
  if (length === undefined) return start
  return Math.max(Math.floor(start / length) * length, Math.floor(now / length) * length - keptPeriods * length)
}

/** The earliest start of a step that a series can have at a time. */
export const getEarliest = (now: number) => ({
  hour: Math.max(start, Math.floor(now / hourMs) * hourMs - keptHours * hourMs),
  day: Math.max(start - dayMs, Math.floor(now / dayMs) * dayMs - keptDays * dayMs)
})

export const toName = (subscription: string, meter: string, at?: number): string =>
  `${subscription} ${meter}${at === undefined ? "" : ` ${new Date(at).toISOString().slice(0, 13)}`}`

type Series = Awaited<ReturnType<UsageGate["series"]>>

const flatten = (name: string, { data }: Series): ReadonlyArray<readonly [string, number]> =>
  data.flatMap(({ start, meters }) =>
    Object.entries(meters).flatMap(([meter, amount]) =>
      amount === 0 ? [] : [[toName(name, meter, DateTime.toEpochMillis(start)), amount] as const]
    )
  )

/** Reads the usage of subscriptions by name. */
export const readUsage = async (
  gate: UsageGate,
  bucketId: string,
  subscriptions: Readonly<Record<string, MeteredSubscription>>,
  now: number
): Promise<UsageReadings> => {
  const earliest = getEarliest(now)
  const read = await Promise.all(
    Object.entries(subscriptions).map(async ([name, subscription]) => {
      // Quotas first: they give back what expired reservations hold.
      const quotas = await gate.quotas(bucketId, subscription)
      const readSeries = (step: keyof typeof earliest) => gate.series(bucketId, subscription, step, earliest[step])
      const [hours, days] = await Promise.all([readSeries("hour"), readSeries("day")])
      const meters = Object.keys(days.data[0]?.meters ?? {})
      const periods = await Promise.all(
        meters.map((meter) => gate.series(bucketId, subscription, "period", getEarliestPeriod(meter, now), meter))
      )
      return {
        name,
        quotas,
        hours: [hours],
        days: [days],
        periods,
        status: await gate.readStatus(bucketId, subscription)
      }
    })
  )
  const merge = (select: (usage: (typeof read)[number]) => ReadonlyArray<Series>) =>
    Object.fromEntries(read.flatMap((usage) => select(usage).flatMap((series) => flatten(usage.name, series))))
  return {
    statuses: Object.fromEntries(read.map(({ name, status }) => [name, status])),
    quotas: Object.fromEntries(
      read.flatMap(({ name, quotas }) =>
        Object.entries(quotas.meters).map(([meter, { max, used }]) => [toName(name, meter), [max, used] as const])
      )
    ),
    hours: merge(({ hours }) => hours),
    days: merge(({ days }) => days),
    periods: merge(({ periods }) => periods),
    totals: Object.fromEntries(flatten("all", await gate.totals(bucketId, earliest.day)))
  }
}
