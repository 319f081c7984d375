/**
 * Index terms for finding ended trials without reading the others: the year, month, day and hour in which a trial ends.
 */
import { DateTime } from "effect"
import type { StoredSubscription } from "./Subscription.ts"

/** A term of every trialing subscription, whether or not its trial has an end. */
export const trialIndexedTerm = "trial-indexed"

/** Lengths of the ISO prefixes `2026`, `2026-11`, `2026-11-15` and `2026-11-15T09`. */
const prefixLengths = { year: 4, month: 7, day: 10, hour: 13 } as const

const endsInTerm = (timePrefix: string): string => `trial-ends:${timePrefix}`

/** Trials that ended before this year share one term; only imported data has them. */
const firstYear = 2020
const endsBeforeFirstYear = endsInTerm("earlier")

export const trialTerms = ({ status, trialEndDate }: StoredSubscription): ReadonlyArray<string> => {
  if (status !== "trialing") return []
  if (trialEndDate === undefined) return [trialIndexedTerm]
  const end = DateTime.formatIso(trialEndDate)
  if (Number(end.slice(0, prefixLengths.year)) < firstYear) return [trialIndexedTerm, endsBeforeFirstYear]
  return [trialIndexedTerm, ...Object.values(prefixLengths).map((length) => endsInTerm(end.slice(0, length)))]
}

const pad = (value: number): string => String(value).padStart(2, "0")

const range = (from: number, to: number): ReadonlyArray<number> =>
  Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index)

/**
 * The terms that cover all ended trials: past years, months, days and hours, and the current hour, which also contains
 * trials that have not ended yet.
 */
export const endedTrialTerms = (now: DateTime.Utc): ReadonlyArray<string> => {
  const { year, month, day, hour } = DateTime.toPartsUtc(now)
  const iso = DateTime.formatIso(now)
  return [
    endsBeforeFirstYear,
    ...range(firstYear, year).map((past) => endsInTerm(String(past))),
    ...range(1, month).map((past) => endsInTerm(`${iso.slice(0, prefixLengths.year)}-${pad(past)}`)),
    ...range(1, day).map((past) => endsInTerm(`${iso.slice(0, prefixLengths.month)}-${pad(past)}`)),
    ...range(0, hour).map((past) => endsInTerm(`${iso.slice(0, prefixLengths.day)}T${pad(past)}`)),
    endsInTerm(iso.slice(0, prefixLengths.hour))
  ]
}
