/**
 * When the periods of a subscription are closed, and how that follows from its changes. Only computes.
 */

import { DateTime, Option } from "effect"
import { type LongPeriod, longPeriodsAt, longPeriodsUntil, monthAt } from "../model/longPeriods.ts"
import type { PeriodClosing } from "../model/periodClosings.ts"
import { getUsageId, type StoredSubscription } from "../model/Subscription.ts"

/** The name is stored. */
export const periodsJob = { name: "periods" }

/**
 * How long after its end a period is closed. The clocks of processes may differ by 10 minutes: the period has then been over
 * for a minute by each of them, so that no process counts in it any more.
 */
const closingDelayMs = 11 * 60_000
/** How soon a subscription that was canceled is looked at: after the commit that has canceled it. */
const canceledDelayMs = 2_000
/** For how long a period can change after its end: events are up to 72 hours old, and remembered for 96. */
const changeableMs = 8 * 24 * 60 * 60_000

const toDue = (end: number): DateTime.Utc => DateTime.makeUnsafe(end + closingDelayMs)

const getFirstEnd = (subscription: StoredSubscription, { closedUpTo }: PeriodClosing): number =>
  monthAt(subscription, closedUpTo).end

/** When a subscription is looked at that is canceled now. */
export const toCanceledDue = (now: DateTime.Utc): DateTime.Utc => DateTime.add(now, { milliseconds: canceledDelayMs })

/** The schedule of a new subscription, or of one that has none yet. */
export const makeClosing = (subscription: StoredSubscription, now: DateTime.Utc): PeriodClosing => {
  const { start, end } = monthAt(subscription, now.epochMilliseconds)
  return {
    usageId: getUsageId(subscription),
    subscriptionId: subscription.id,
    customerKey: subscription.customerKey,
    closedUpTo: start,
    dueOn: toDue(end),
    ended: [],
    told: []
  }
}

/** The schedule of a subscription that is created in the status `canceled`: nothing is to be closed. */
export const withoutPeriods = (
  { dueOn: _, ...closing }: PeriodClosing,
  { canceledOn }: StoredSubscription,
  now: DateTime.Utc
): PeriodClosing => ({ ...closing, canceledOn: (canceledOn ?? now).epochMilliseconds, isEnded: true })

/** The schedule after its subscription was canceled. */
const withEnd = (closing: PeriodClosing, subscription: StoredSubscription, now: DateTime.Utc): PeriodClosing => {
  if (closing.subscriptionId !== subscription.id || closing.canceledOn !== undefined) return closing
  const canceledOn = (subscription.canceledOn ?? now).epochMilliseconds
  // With the end of its period, which is closed as any other.
  if (canceledOn === getFirstEnd(subscription, closing)) return { ...closing, canceledOn }
  return { ...closing, canceledOn, dueOn: toCanceledDue(now) }
}

/** The schedule of a subscription that began, or returned. Periods in which it was canceled are not closed. */
const withBegin = (closing: PeriodClosing, subscription: StoredSubscription, now: DateTime.Utc): PeriodClosing => {
  if (closing.canceledOn === undefined && closing.subscriptionId === subscription.id) return closing
  const { canceledOn: _, isEnded = false, dueOn, ...rest } = closing
  const month = monthAt(subscription, now.epochMilliseconds)
  const closedUpTo = isEnded ? Math.max(closing.closedUpTo, month.start) : closing.closedUpTo
  const begun = { ...rest, subscriptionId: subscription.id, closedUpTo }
  const next = toDue(getFirstEnd(subscription, begun))
  return { ...begun, dueOn: closing.isChanged === true && dueOn !== undefined ? DateTime.min(dueOn, next) : next }
}

/** The schedule after a change of its subscription; the same if nothing of it changes. */
export const closingAfter = (
  closing: PeriodClosing,
  subscription: StoredSubscription,
  now: DateTime.Utc
): PeriodClosing =>
  subscription.status === "canceled" ? withEnd(closing, subscription, now) : withBegin(closing, subscription, now)

/** The ends of months that are over and not closed. */
export const listOpenEnds = (
  closing: PeriodClosing,
  subscription: StoredSubscription,
  now: DateTime.Utc
): ReadonlyArray<number> => {
  if (closing.isEnded === true) return []
  const ends: Array<number> = []
  const last = closing.canceledOn ?? Number.POSITIVE_INFINITY
  for (
    let end = getFirstEnd(subscription, closing);
    end <= now.epochMilliseconds && end <= last;
    end = monthAt(subscription, end).end
  ) {
    ends.push(end)
  }
  return ends
}

/** What is closed together. */
export interface ClosingStep {
  readonly periods: ReadonlyArray<LongPeriod>
  readonly closedBy: "period-end" | "canceled"
  /** Whether open reservations are waited for. */
  readonly canWait: boolean
  /** The schedule without what is closed, and with the time of the next step. */
  readonly next: PeriodClosing
}

/** The first periods that are to be closed now, if there are any. `isForced`: also if they have just ended. */
export const findStep = (
  closing: PeriodClosing,
  subscription: StoredSubscription,
  now: DateTime.Utc,
  isForced = false
): Option.Option<ClosingStep> => {
  const { canceledOn, isEnded = false, dueOn: _, ...rest } = closing
  if (isEnded) return Option.none()
  const end = getFirstEnd(subscription, closing)
  const isOver = DateTime.isLessThanOrEqualTo(toDue(end), now)
  if (canceledOn === undefined || end <= canceledOn) {
    const isAtOnce = canceledOn !== undefined && end < canceledOn
    if (!isOver && !isAtOnce && !isForced) return Option.none()
    const closed = { ...rest, closedUpTo: end }
    const dueOn = canceledOn === undefined ? toDue(getFirstEnd(subscription, closed)) : now
    return Option.some({
      periods: longPeriodsUntil(subscription, end),
      closedBy: "period-end",
      canWait: !isAtOnce,
      next: { ...closed, dueOn, ...(canceledOn === undefined ? {} : { canceledOn }) }
    })
  }
  return Option.some({
    periods: longPeriodsAt(subscription, canceledOn).filter(({ start }) => start < canceledOn),
    closedBy: "canceled",
    canWait: false,
    next: { ...rest, canceledOn, isEnded: true }
  })
}

/** When there is something to do, if no step is due: the present value of a schedule may say that of a correction. */
export const findNextDue = (closing: PeriodClosing, subscription: StoredSubscription): DateTime.Utc | undefined =>
  closing.isEnded === true ? undefined : toDue(getFirstEnd(subscription, closing))

/** The schedule without what cannot change any more. */
export const dropOld = (closing: PeriodClosing, now: DateTime.Utc): PeriodClosing => {
  const first = now.epochMilliseconds - changeableMs
  return { ...closing, told: closing.told.filter(({ end }) => end > first) }
}
