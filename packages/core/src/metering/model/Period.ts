/**
 * Quota periods. A meter has the period of the subscription, unless its plan sets another: clock hours, days and weeks in
 * UTC, months or years from the anchor, or one that never ends.
 *
 * The periods of a subscription are calendar months or years from an anchor, in UTC. In a month that is too short for the anchor's day,
 * the period starts on the last day of the month. Every boundary is computed from the anchor, not from the previous
 * boundary, so a later period starts on the anchor's day again.
 */

import { Timestamp } from "@tollgate/store/internal"
import { DateTime, Schema } from "effect"
import { dayMs, hourMs } from "./clockSteps.ts"

export type RenewalStrategy = "monthly" | "yearly"

export interface Period {
  readonly start: DateTime.Utc
  /** Exclusive: the start of the next period. */
  readonly end: DateTime.Utc
}

/** The period of a meter that does not have that of the subscription. `none` never ends. */
export const PeriodKind = Schema.Literals(["hour", "day", "week", "month", "year", "none"]).annotate({
  identifier: "MeterPeriod",
  message: 'must be "hour", "day", "week", "month", "year" or "none"'
})
export type PeriodKind = typeof PeriodKind.Type

/**
 * Identifies a period of a meter, in counters and records: the start of a period of the subscription, in epoch milliseconds;
 * for another period with its kind, such as `day:1763510400000`.
 */
export const PeriodId = Schema.Union([Schema.Int, Schema.TemplateLiteral([PeriodKind, ":", Schema.Int])])
export type PeriodId = typeof PeriodId.Type

/** A period of a meter that does not have that of the subscription. */
export const MeterPeriod = Schema.Struct({
  id: PeriodId,
  start: Timestamp,
  /** Exclusive. Absent if the period never ends. */
  end: Schema.optionalKey(Timestamp)
})
export type MeterPeriod = typeof MeterPeriod.Type

/** What the periods of a subscription depend on. */
interface Periodic {
  readonly quotaResetAnchor: DateTime.Utc
  readonly renewalStrategy: RenewalStrategy
  readonly createdOn: DateTime.Utc
  /** The subscription whose usage it continues. */
  readonly usageOf?: { readonly createdOn: DateTime.Utc }
}

const ownKinds: Readonly<Record<RenewalStrategy, PeriodKind>> = { monthly: "month", yearly: "year" }

/** The kind of a meter's period; `undefined` if it is the period of the subscription. */
export const toOtherKind = (
  kind: PeriodKind | undefined,
  { renewalStrategy }: Pick<Periodic, "renewalStrategy">
): PeriodKind | undefined => (kind === ownKinds[renewalStrategy] ? undefined : kind)

const monthsPerPeriod: Readonly<Record<RenewalStrategy, number>> = { monthly: 1, yearly: 12 }

/** Adds months (or subtracts, if negative) to the anchor. Uses the last day of a month that is too short. */
const addMonths = (anchor: Date, months: number): Date => {
  const result = new Date(anchor)
  result.setUTCDate(1)
  result.setUTCMonth(anchor.getUTCMonth() + months)
  const lastDay = new Date(result)
  lastDay.setUTCMonth(result.getUTCMonth() + 1, 0)
  result.setUTCDate(Math.min(anchor.getUTCDate(), lastDay.getUTCDate()))
  return result
}

/** Whether a timestamp is in a period. */
export const includes = ({ start, end }: Partial<Period> & Pick<Period, "start">, timestamp: DateTime.Utc): boolean => {
  const millis = DateTime.toEpochMillis(timestamp)
  return DateTime.toEpochMillis(start) <= millis && (end === undefined || millis < DateTime.toEpochMillis(end))
}

/** The period that contains a timestamp, which may be before the anchor. */
export const periodAt = (anchor: DateTime.Utc, strategy: RenewalStrategy, timestamp: DateTime.Utc): Period => {
  const step = monthsPerPeriod[strategy]
  const first = DateTime.toDate(anchor)
  const date = DateTime.toDate(timestamp)
  const months = (date.getUTCFullYear() - first.getUTCFullYear()) * 12 + date.getUTCMonth() - first.getUTCMonth()
  let count = Math.floor(months / step)
  if (addMonths(first, count * step) > date) count--
  return {
    start: DateTime.fromDateUnsafe(addMonths(first, count * step)),
    end: DateTime.fromDateUnsafe(addMonths(first, (count + 1) * step))
  }
}

/** The first Monday of the epoch is its fifth day. */
const mondayOffsetMs = 4 * dayMs

const fixedPeriod = (kind: PeriodKind, lengthMs: number, offsetMs: number, timestamp: DateTime.Utc): MeterPeriod => {
  const start = Math.floor((timestamp.epochMilliseconds - offsetMs) / lengthMs) * lengthMs + offsetMs
  return { id: `${kind}:${start}`, start: DateTime.makeUnsafe(start), end: DateTime.makeUnsafe(start + lengthMs) }
}

const calendarPeriod = (kind: PeriodKind, strategy: RenewalStrategy, anchor: DateTime.Utc, timestamp: DateTime.Utc) => {
  const { start, end } = periodAt(anchor, strategy, timestamp)
  return { id: `${kind}:${start.epochMilliseconds}` as const, start, end }
}

/** The period of a kind that contains a timestamp. One that never ends starts with the subscription. */
export const otherPeriodAt = (
  kind: PeriodKind,
  { quotaResetAnchor, createdOn, usageOf }: Periodic,
  timestamp: DateTime.Utc
): MeterPeriod => {
  switch (kind) {
    case "hour":
      return fixedPeriod(kind, hourMs, 0, timestamp)
    case "day":
      return fixedPeriod(kind, dayMs, 0, timestamp)
    case "week":
      return fixedPeriod(kind, 7 * dayMs, mondayOffsetMs, timestamp)
    case "month":
      return calendarPeriod(kind, "monthly", quotaResetAnchor, timestamp)
    case "year":
      return calendarPeriod(kind, "yearly", quotaResetAnchor, timestamp)
    case "none": {
      const { createdOn: start } = usageOf ?? { createdOn }
      return { id: `${kind}:${start.epochMilliseconds}`, start }
    }
  }
}

export const isKind = Schema.is(PeriodKind)

/** The kind of a period, unless it is one of the subscription, and its start in epoch milliseconds. */
export const parseId = (id: PeriodId): { readonly kind?: PeriodKind; readonly start: number } => {
  if (typeof id === "number") return { start: id }
  const [kind, start] = id.split(":")
  return isKind(kind) ? { kind, start: Number(start) } : { start: Number(start) }
}

/** The id of the period of a kind that starts at a time, in epoch milliseconds. */
export const toId = (kind: PeriodKind | undefined, start: number): PeriodId =>
  kind === undefined ? start : `${kind}:${start}`

/** The period with an id. */
export const fromId = (id: PeriodId, subscription: Periodic): Period | MeterPeriod => {
  const { kind, start } = parseId(id)
  const timestamp = DateTime.makeUnsafe(start)
  return kind === undefined
    ? periodAt(subscription.quotaResetAnchor, subscription.renewalStrategy, timestamp)
    : otherPeriodAt(kind, subscription, timestamp)
}

/** How many hours, days and weeks are kept after their end. */
export const keptPeriods = 400
const keptLengths: Partial<Readonly<Record<PeriodKind, number>>> = { hour: hourMs, day: dayMs, week: 7 * dayMs }

/** Whether all periods of a kind are kept. */
export const isKept = (kind: PeriodKind | undefined): boolean => kind === undefined || keptLengths[kind] === undefined

/** The start of the first period of a kind that is kept, in epoch milliseconds. */
export const getFirstKept = (kind: PeriodKind | undefined, now: number): number => {
  const length = kind === undefined ? undefined : keptLengths[kind]
  return length === undefined ? Number.NEGATIVE_INFINITY : now - (keptPeriods + 1) * length
}
