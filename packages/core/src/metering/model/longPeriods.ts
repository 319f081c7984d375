/**
 * The periods that are closed with an event: months and years from the anchor of a subscription. Each year ends with a month,
 * so months alone say when something ends.
 */

import { DateTime } from "effect"
import * as Period from "./Period.ts"
import type { StoredSubscription } from "./Subscription.ts"

const longKinds = ["month", "year"] as const

/** A month or a year of a subscription. Times are in epoch milliseconds. */
export interface LongPeriod {
  readonly kind: (typeof longKinds)[number]
  readonly id: Period.PeriodId
  readonly start: number
  readonly end: number
}

type Periodic = Pick<StoredSubscription, "quotaResetAnchor" | "renewalStrategy">

/** The month that contains a time. */
export const monthAt = ({ quotaResetAnchor }: Pick<Periodic, "quotaResetAnchor">, time: number) => {
  const { start, end } = Period.periodAt(quotaResetAnchor, "monthly", DateTime.makeUnsafe(time))
  return { start: start.epochMilliseconds, end: end.epochMilliseconds }
}

/** The month and the year that contain a time. */
export const longPeriodsAt = (subscription: Periodic, time: number): ReadonlyArray<LongPeriod> =>
  longKinds.map((kind) => {
    const strategy = kind === "month" ? "monthly" : "yearly"
    const { start, end } = Period.periodAt(subscription.quotaResetAnchor, strategy, DateTime.makeUnsafe(time))
    const id = Period.toId(Period.toOtherKind(kind, subscription), start.epochMilliseconds)
    return { kind, id, start: start.epochMilliseconds, end: end.epochMilliseconds }
  })

/** The periods that end at a time. */
export const longPeriodsUntil = (subscription: Periodic, end: number): ReadonlyArray<LongPeriod> =>
  longPeriodsAt(subscription, end - 1).filter((period) => period.end === end)

/** Whether a period is a month or longer. A period of the subscription is. */
export const isLong = (id: Period.PeriodId): boolean => {
  const { kind } = Period.parseId(id)
  return kind === undefined || kind === "month" || kind === "year"
}
