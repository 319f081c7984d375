/**
 * Index terms by which ended trials are found without reading the others: the year, month, day and hour in which a
 * trial ends.
 */
import { DateTime } from "effect"
import type { StoredSubscription } from "./Subscription.ts"

/** Carried by every subscription that is trialing, whether or not its trial has an end. */
export const trialIndexed = "trial-indexed"

/** Lengths of `2026`, `2026-11`, `2026-11-15`, `2026-11-15T09`. */
const [year, month, day, hour] = [4, 7, 10, 13] as const

const endsIn = (span: string): string => `trial-ends:${span}`

/** Trials with an end before this year were imported as ended, and share one term. */
const firstYear = 2020
const earlier = endsIn("earlier")

export const trialTerms = ({ status, trialEndDate }: StoredSubscription): ReadonlyArray<string> => {
  if (status !== "trialing") return []
  if (trialEndDate === undefined) return [trialIndexed]
  const end = DateTime.formatIso(trialEndDate)
  if (Number(end.slice(0, year)) < firstYear) return [trialIndexed, earlier]
  return [trialIndexed, ...[year, month, day, hour].map((length) => endsIn(end.slice(0, length)))]
}

const pad = (value: number): string => String(value).padStart(2, "0")

const range = (from: number, to: number): ReadonlyArray<number> =>
  Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index)

/**
 * The terms that cover all trials which have ended: of whole years, months, days and hours that are over, and of the
 * present hour, in which some may not have ended yet.
 */
export const endedTerms = (now: DateTime.Utc): ReadonlyArray<string> => {
  const { year: y, month: m, day: d, hour: h } = DateTime.toPartsUtc(now)
  const prefix = DateTime.formatIso(now)
  return [
    earlier,
    ...range(firstYear, y).map((past) => endsIn(String(past))),
    ...range(1, m).map((past) => endsIn(`${prefix.slice(0, year)}-${pad(past)}`)),
    ...range(1, d).map((past) => endsIn(`${prefix.slice(0, month)}-${pad(past)}`)),
    ...range(0, h).map((past) => endsIn(`${prefix.slice(0, day)}T${pad(past)}`)),
    endsIn(prefix.slice(0, hour))
  ]
}
