/**
 * Closes the next periods of one subscription, and corrects those that have changed: computes the new schedule and the changes
 * that record it, with the events.
 */

import { type Change, type Entry, omitUndefined } from "@tollgate/store/internal"
import { DateTime, Effect, Option } from "effect"
import type { MetersTotals } from "../model/ClosedPeriod.ts"
import type { MeteringBucket } from "../model/MeteringBucket.ts"
import { type PeriodClosing, type ToldPeriod, withChange } from "../model/periodClosings.ts"
import type { StoredSubscription } from "../model/Subscription.ts"
import { dropOld, findNextDue, findStep } from "./closingSchedule.ts"
import { tell } from "./periodEvents.ts"
import type { PeriodUsage } from "./periodTotals.ts"
import type { GetTerms } from "./readTerms.ts"

/** What a closed period is looked at again for, while reservations of it are open. */
const heldDelay = { minutes: 5 }

/** A subscription whose periods are closed, and all that says what they are closed with. */
export interface Closing {
  readonly closing: PeriodClosing
  readonly subscription: Entry<StoredSubscription>
  readonly getTerms: GetTerms
  readonly usage: PeriodUsage
}

/** The periods that the next step closes, if any of them waits for open reservations. */
export const findWaiting = ({ closing, subscription, usage }: Closing, now: DateTime.Utc) =>
  Option.match(findStep(closing, subscription.value, now), {
    onNone: () => [],
    onSome: ({ periods, canWait }) => (canWait ? periods.filter(({ id }) => usage.getHeld(id) > 0) : [])
  })

const getMaxima = (meters: MetersTotals): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(meters).flatMap(([meter, { max }]) => (max === undefined ? [] : [[meter, max]])))

const isUsed = (meters: MetersTotals): boolean => Object.values(meters).some(({ used }) => used > 0)

/** `isDeleted`: the subscription is being deleted. The caller writes the schedule, and checks that `ids` have not changed. */
export const closeStep = Effect.fnUntraced(function* (
  bucket: MeteringBucket,
  { closing, subscription: { value: subscription }, getTerms, usage }: Closing,
  now: DateTime.Utc,
  isDeleted = false
) {
  const { isChanged = false, isEnded = false, closedUpTo, canceledOn } = closing
  const step = Option.getOrUndefined(findStep(closing, subscription, now, isDeleted))
  const told = new Map(closing.told.map((period) => [period.id, period]))
  const events: Array<Change> = []
  const looked: Array<ToldPeriod> = []

  const look = Effect.fnUntraced(function* (before: MetersTotals, period: ToldPeriod) {
    looked.push(period)
    told.set(period.id, period)
    const result = yield* tell(bucket, subscription, closing.usageId, before, period)
    if (Option.isNone(result)) return
    told.set(period.id, result.value.told)
    events.push(result.value.change)
  })

  for (const period of isChanged ? closing.told : []) {
    // What goes on is looked at when it is over.
    if (period.end > closedUpTo && !isEnded) continue
    yield* look(period.meters, { ...period, meters: usage.getTotals(period.id, getMaxima(period.meters)) })
  }
  for (const { id, kind, start, end } of step?.periods ?? []) {
    const { status, planExternalIds, maxima } =
      closing.ended.find((ended) => ended.id === id) ?? getTerms({ id, kind, start, end }, canceledOn)
    const before = told.get(id)
    const { closedBy = "period-end" } = step ?? {}
    const terms = {
      ...{ id, kind, start, end, status, planExternalIds },
      closedBy: isDeleted && closedBy === "canceled" ? ("deleted" as const) : closedBy
    }
    const meters = usage.getTotals(id, maxima)
    // Such as the subscription of a sign-up that is undone.
    if (terms.closedBy === "deleted" && !isUsed(before?.meters ?? {}) && !isUsed(meters)) continue
    yield* look(before?.meters ?? {}, { ...terms, revision: before?.revision ?? 0, meters })
  }

  const { isChanged: _, dueOn: __, ...rest } = step?.next ?? closing
  const dueOn = step === undefined ? findNextDue(closing, subscription) : step.next.dueOn
  const done = new Set([...looked, ...(step?.periods ?? [])].map(({ id }) => id))
  const next = dropOld(
    {
      ...rest,
      ...omitUndefined({ dueOn }),
      told: [...told.values()],
      ended: closing.ended.filter(({ id }) => !done.has(id))
    },
    now
  )
  const isHeld = looked.some(({ id }) => usage.getHeld(id) > 0)
  return {
    next: isHeld ? withChange(next, DateTime.addDuration(now, heldDelay)) : next,
    ids: [...done],
    events
  }
})
