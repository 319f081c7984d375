/**
 * Whether an alert is triggered, from what was last seen of each period and what is seen now.
 */

import { DateTime } from "effect"
import { canRepeat, isReached, type StoredAlert } from "../model/Alert.ts"
import type { Period } from "../model/Period.ts"
import type { Quota } from "../model/Quota.ts"

/** What is seen of a meter in a period. */
export interface Reading {
  readonly subscriptionId: string
  readonly counter: string
  readonly period: Pick<Period, "start"> & Partial<Period>
  /** What is reserved and not settled is not used yet. */
  readonly quota: Quota
  /** What remained when nothing was used yet. */
  readonly capacity: number
  /** What credit had left at the end of an earlier period is not known any more. */
  readonly isRemainingKnown: boolean
}

/** How many periods are remembered: more than are ever read again. */
const keptPeriods = 10

export const getSeen = ({ seen }: StoredAlert, counter: string): boolean | undefined =>
  seen.find((period) => period.counter === counter)?.isReached

/**
 * Whether it was reached before. In a period that was not seen yet, it was not if more remained at its start; otherwise it is
 * as it was in the period before. What is reached when the alert is made is not news.
 */
const wasReached = (alert: StoredAlert, { counter, capacity }: Reading): boolean => {
  const seen = getSeen(alert, counter)
  if (seen !== undefined) return seen
  const { remaining } = alert.when
  return remaining !== undefined && capacity <= remaining && alert.seen.at(-1)?.isReached !== false
}

const see = (alert: StoredAlert, counter: string, isReached: boolean): StoredAlert => ({
  ...alert,
  seen: [...alert.seen.filter((period) => period.counter !== counter), { counter, isReached }].slice(-keptPeriods)
})

/** The alert with what is seen now, and the readings that trigger it. The latest period is the last. */
export const judgeAlert = (before: StoredAlert, readings: ReadonlyArray<Reading>, now: DateTime.Utc) => {
  let alert = before
  const triggering: Array<Reading> = []
  for (const reading of readings) {
    const { end } = reading.period
    if (canRepeat(alert.when) && !reading.isRemainingKnown) continue
    if (end !== undefined && DateTime.isLessThanOrEqualTo(end, alert.createdOn)) continue
    const isReachedNow = isReached(alert.when, reading.quota)
    if (isReachedNow && !wasReached(alert, reading)) {
      triggering.push(reading)
      alert = { ...alert, lastTriggeredOn: now }
    }
    const isNews = isReachedNow !== getSeen(alert, reading.counter)
    // What cannot repeat stays reached in its period.
    if (isNews && (isReachedNow || canRepeat(alert.when))) alert = see(alert, reading.counter, isReachedNow)
  }
  return { alert, triggering }
}
