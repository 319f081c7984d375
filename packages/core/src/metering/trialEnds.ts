/**
 * Index terms for finding ended trials without reading the others: the year, month, day and hour in which a trial ends.
 */
import { DateTime } from "effect"
import type { StoredSubscription } from "./Subscription.ts"

/** A term of every trialing subscription, whether or not its trial has an end. */
export const trialIndexedTerm = "trial-indexed"

/** Lengths of the ISO prefixes `2026`, `2026-11`, `2026-11-15`, `2026-11-15T09`. */
const [year, month, day, hour] = [4, 7, 10, 13] as const

const endsInTerm = (timePrefix: string): string => `trial-ends:${timePrefix}`

/** Trials with an end before this year were imported as ended, and share one term. */
const firstYear = 2020
const endsBeforeFirstYear = endsInTerm("earlier")

export const trialTerms = ({ status, trialEndDate }: StoredSubscription): ReadonlyArray<string> => {
  if (status !== "trialing") return []
  if (trialEndDate === undefined) return [trialIndexedTerm]
  const end = DateTime.formatIso(trialEndDate)
  if (Number(end.slice(0, year)) < firstYear) return [trialIndexedTerm, endsBeforeFirstYear]
  return [trialIndexedTerm, ...[year, month, day, hour].map((length) => endsInTerm(end.slice(0, length)))]
}

const pad = (value: number): string => String(value).padStart(2, "0")

const range = (from: number, to: number): ReadonlyArray<number> =>
  Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index)

/**
 * The terms that cover all ended trials: past years, months, days and hours, and the current hour, which also contains
 * trials that have not ended yet.
 */
export const endedTrialTerms = (now: DateTime.Utc): ReadonlyArray<string> => {
  const { year: y, month: m, day: d, hour: h } = DateTime.toPartsUtc(now)
  const prefix = DateTime.formatIso(now)
  return [
    endsBeforeFirstYear,
    ...range(firstYear, y).map((past) => endsInTerm(String(past))),
    ...range(1, m).map((past) => endsInTerm(`${prefix.slice(0, year)}-${pad(past)}`)),
    ...range(1, d).map((past) => endsInTerm(`${prefix.slice(0, month)}-${pad(past)}`)),
    ...range(0, h).map((past) => endsInTerm(`${prefix.slice(0, day)}T${pad(past)}`)),
    endsInTerm(prefix.slice(0, hour))
  ]
}
