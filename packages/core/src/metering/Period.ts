/**
 * Periods of a quota: calendar months or years from an anchor, in UTC. The 31st is the last day of shorter months and
 * comes back after them; 29 February is 28 February in common years. Every boundary is counted from the anchor, never
 * from the one before, so nothing drifts.
 */
import { DateTime } from "effect"

export type RenewalStrategy = "monthly" | "yearly"

export interface Period {
  readonly start: DateTime.Utc
  /** The first moment of the next period. */
  readonly end: DateTime.Utc
}

const monthsIn: Readonly<Record<RenewalStrategy, number>> = { monthly: 1, yearly: 12 }

/** The anchor so many months later, or earlier, on its own day or the last one there is. */
const monthsAfter = (anchor: Date, months: number): Date => {
  const moved = new Date(anchor)
  moved.setUTCDate(1)
  moved.setUTCMonth(anchor.getUTCMonth() + months)
  const last = new Date(moved)
  last.setUTCMonth(moved.getUTCMonth() + 1, 0)
  moved.setUTCDate(Math.min(anchor.getUTCDate(), last.getUTCDate()))
  return moved
}

/** Whether a moment lies in a period. */
export const includes = ({ start, end }: Period, moment: DateTime.Utc): boolean => {
  const now = DateTime.toEpochMillis(moment)
  return DateTime.toEpochMillis(start) <= now && now < DateTime.toEpochMillis(end)
}

/** The period that a moment lies in; there are periods before the anchor as well. */
export const containing = (anchor: DateTime.Utc, strategy: RenewalStrategy, moment: DateTime.Utc): Period => {
  const step = monthsIn[strategy]
  const first = DateTime.toDate(anchor)
  const now = DateTime.toDate(moment)
  const months = (now.getUTCFullYear() - first.getUTCFullYear()) * 12 + now.getUTCMonth() - first.getUTCMonth()
  let count = Math.floor(months / step)
  if (monthsAfter(first, count * step) > now) count--
  return {
    start: DateTime.fromDateUnsafe(monthsAfter(first, count * step)),
    end: DateTime.fromDateUnsafe(monthsAfter(first, (count + 1) * step))
  }
}
