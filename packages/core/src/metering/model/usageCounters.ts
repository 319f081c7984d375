/**
 * The counters of usage, in the partition of a metering bucket. Their names are stored and cannot change.
 */

import { dayMs } from "./clockSteps.ts"
import { isKind, type PeriodId, toId } from "./Period.ts"

/** Usage of a meter in a period, with what is reserved. */
export const getUsedCounter = (subscriptionId: string, meter: string, period: PeriodId): string =>
  `usage:${subscriptionId}:${meter}:${period}`

/** The id under which a counter of usage counts. */
export const getCountedId = (counter: string): string => counter.split(":")[1] ?? ""

/** The period that a counter of usage counts. */
export const getCountedPeriod = (counter: string): PeriodId => {
  const [_, __, ___, kind, start] = counter.split(":")
  // Without a kind, the period of the subscription.
  return isKind(kind) ? toId(kind, Number(start)) : Number(kind)
}

/** The part of it that is reserved and not settled yet. */
export const getHeldCounter = (subscriptionId: string, meter: string, period: PeriodId): string =>
  `held:${subscriptionId}:${meter}:${period}`

/** The counter of what is held, for a counter of usage; `undefined` for any other counter. */
export const toHeldCounter = (counter: string): string | undefined =>
  counter.startsWith("usage:") ? `held:${counter.slice("usage:".length)}` : undefined

const dayPrefix = "usage-day:"

/** Usage of a meter on one day, of all subscriptions of the metering bucket. */
export const getDayCounter = (meter: string, day: number): string => `${dayPrefix}${meter}:${day}`

const takenBackPrefix = "usage-day-back:"

/**
 * What adjustments have taken back of a meter on one day, which the day's usage is less: a counter stops at 0, and more may be
 * taken back on a day than was used on it.
 */
export const getTakenBackCounter = (meter: string, day: number): string => `${takenBackPrefix}${meter}:${day}`

export const isDayCounter = (counter: string): boolean =>
  counter.startsWith(dayPrefix) || counter.startsWith(takenBackPrefix)

/**
 * For how long a period's counters are kept, in milliseconds: as long as the subscription may last. They are removed when
 * the period is closed, or with the subscription.
 */
export const usageTtlMs = 36_525 * dayMs

/** Days are kept for 400 days after their end. */
export const keptDays = 400
/** Hours are kept for 8 days after their end. */
export const keptHours = 8 * 24

/** For how long a day's counter is kept, in milliseconds. */
export const dayTtlMs = (keptDays + 2) * dayMs
