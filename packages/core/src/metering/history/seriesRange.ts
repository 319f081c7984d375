/**
 * The steps of a usage series: whole clock hours or days in UTC, or the periods of a subscription.
 */

import { type InvalidInput, invalidParameter } from "@tollgate/store/internal"
import { DateTime, Effect } from "effect"
import { dayMs, hourMs } from "../model/clockSteps.ts"
import * as Period from "../model/Period.ts"
import type { StoredSubscription } from "../model/Subscription.ts"
import { keptDays, keptHours } from "../model/usageCounters.ts"

/** In epoch milliseconds. `end` is exclusive. */
export interface SeriesStep {
  readonly start: number
  readonly end: number
}

/** Divides time into steps. */
interface Division {
  /** The step that contains a time. */
  readonly stepAt: (millis: number) => SeriesStep
  /** For how many steps usage is kept. */
  readonly kept?: number
}

const fixedSteps = (length: number, kept: number): Division => ({
  stepAt: (millis) => {
    const start = Math.floor(millis / length) * length
    return { start, end: start + length }
  },
  kept
})

/** Clock hours in UTC, for as long as they are kept. */
export const hours = fixedSteps(hourMs, keptHours)
/** Days in UTC, for as long as they are kept. */
export const days = fixedSteps(dayMs, keptDays)

/** The periods of a subscription, or of a meter that has others. Of hours, days and weeks the last ones are kept. */
export const periodsOf = (subscription: StoredSubscription, kind: Period.PeriodKind | undefined): Division => ({
  stepAt: (millis) => {
    const timestamp = DateTime.makeUnsafe(millis)
    const { quotaResetAnchor, renewalStrategy } = subscription
    const { start, end = start } =
      kind === undefined
        ? Period.periodAt(quotaResetAnchor, renewalStrategy, timestamp)
        : Period.otherPeriodAt(kind, subscription, timestamp)
    return { start: DateTime.toEpochMillis(start), end: DateTime.toEpochMillis(end) }
  },
  ...(Period.isKept(kind) ? {} : { kept: Period.keptPeriods })
})

export interface SeriesRange {
  readonly from: number
  readonly to: number
  /** Oldest first. */
  readonly steps: ReadonlyArray<SeriesStep>
}

const defaultSteps = 30
const maxSteps = 1_000
/** The years with four digits. */
const [minTime, maxTime] = [Date.parse("0000-01-01T00:00:00Z"), Date.parse("9999-12-31T23:59:59.999Z")]

interface RequestedRange {
  readonly from?: DateTime.Utc | undefined
  readonly to?: DateTime.Utc | undefined
}

/** The step before another. */
const stepBefore = ({ stepAt }: Division, { start }: SeriesStep): SeriesStep => stepAt(start - 1)

const goBack = (division: Division, step: SeriesStep, count: number): SeriesStep => {
  let earlier = step
  for (let index = 0; index < count; index++) earlier = stepBefore(division, earlier)
  return earlier
}

/** The steps from one time to another, widened to whole steps. `undefined` if there are more than `maxSteps`. */
const listSteps = ({ stepAt }: Division, from: number, to: number): ReadonlyArray<SeriesStep> | undefined => {
  const steps: Array<SeriesStep> = []
  for (let start = stepAt(from).start; start < to; ) {
    if (steps.length === maxSteps) return undefined
    const step = stepAt(start)
    steps.push(step)
    start = step.end
  }
  return steps
}

/** Leaves out the steps that start more than `kept` steps before the present one. */
const dropOldSteps = (steps: ReadonlyArray<SeriesStep>, { start, end }: SeriesStep, kept: number) => {
  const earliest = start - kept * (end - start)
  return steps.filter((step) => step.start >= earliest)
}

/** The steps of a requested range. Those whose usage is not kept any more are left out. */
export const resolveRange = (
  division: Division,
  requested: RequestedRange,
  now: number
): Effect.Effect<SeriesRange, InvalidInput> => {
  const present = division.stepAt(now)
  const requestedTo = requested.to && DateTime.toEpochMillis(requested.to)
  const to = requestedTo ?? present.end
  const lastStep = division.stepAt(to - 1)
  const from = requested.from
    ? DateTime.toEpochMillis(requested.from)
    : goBack(division, lastStep, defaultSteps - 1).start
  if (to < from) return Effect.fail(invalidParameter("to", "must not be before from"))
  const steps = listSteps(division, from, to)
  if (steps === undefined) {
    return Effect.fail(invalidParameter("from", `is more than ${maxSteps.toLocaleString("en-US")} steps before to`))
  }
  const end = steps.at(-1)?.end ?? to
  const kept = division.kept === undefined ? steps : dropOldSteps(steps, present, division.kept)
  const start = kept[0]?.start ?? end
  if (start < minTime || end > maxTime) {
    const parameter = end > maxTime || requested.from === undefined ? "to" : "from"
    return Effect.fail(invalidParameter(parameter, "must be in the years 0000 to 9999, with the whole step"))
  }
  return Effect.succeed({ from: start, to: end, steps: kept })
}
