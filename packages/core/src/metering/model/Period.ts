/**
 * Quota periods: calendar months or years from an anchor, in UTC. In a month that is too short for the anchor's day,
 * the period starts on the last day of the month. Every boundary is computed from the anchor, not from the previous
 * boundary, so a later period starts on the anchor's day again.
 */
import { DateTime } from "effect"

export type RenewalStrategy = "monthly" | "yearly"

export interface Period {
  readonly start: DateTime.Utc
  /** Exclusive: the start of the next period. */
  readonly end: DateTime.Utc
}

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
export const includes = ({ start, end }: Period, timestamp: DateTime.Utc): boolean => {
  const millis = DateTime.toEpochMillis(timestamp)
  return DateTime.toEpochMillis(start) <= millis && millis < DateTime.toEpochMillis(end)
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
