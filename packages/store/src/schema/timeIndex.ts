/**
 * Index terms for finding what is due without reading the rest: the year, month, day and hour of a time, and where it
 * matters the minute.
 */
import { DateTime } from "effect"

/** Lengths of the ISO prefixes `2026`, `2026-11`, `2026-11-15`, `2026-11-15T09` and `2026-11-15T09:30`. */
const prefixLengths = { year: 4, month: 7, day: 10, hour: 13, minute: 16 } as const

/** Times before this year share one term. */
const firstYear = 2020

/** How many years to come have a term of their own in `termsAfter`. */
const coveredYears = 20

/** The rest of a prefix, as the start of its year, month, day, hour or minute. */
const epochStart = "1970-01-01T00:00:00.000Z"

const pad = (value: number): string => String(value).padStart(2, "0")

const range = (from: number, to: number): ReadonlyArray<number> =>
  Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index)

/** Index terms that find records by time. */
export interface TimeIndex {
  /** The terms of a time. */
  readonly terms: (time: DateTime.Utc) => ReadonlyArray<string>
  /**
   * The terms that cover all times up to now: past years, months, days, hours and minutes. The last one is of the current
   * hour or minute, which also has times that are still to come.
   */
  readonly termsUntil: (now: DateTime.Utc) => ReadonlyArray<string>
  /**
   * The terms that cover the times after the current hour or minute, the earliest first, and when each begins: minutes,
   * hours, days and months to come, and twenty years.
   */
  readonly termsAfter: (now: DateTime.Utc) => ReadonlyArray<{ readonly term: string; readonly start: DateTime.Utc }>
}

/** `name` begins each term. `unit` is the shortest unit of time that has a term. */
export const makeTimeIndex = (name: string, unit: "hour" | "minute"): TimeIndex => {
  const toTerm = (prefix: string): string => `${name}:${prefix}`
  const beforeFirstYear = toTerm("earlier")
  const lengths = Object.values(prefixLengths).filter((length) => length <= prefixLengths[unit])
  return {
    terms: (time) => {
      const iso = DateTime.formatIso(time)
      return Number(iso.slice(0, prefixLengths.year)) < firstYear
        ? [beforeFirstYear]
        : lengths.map((length) => toTerm(iso.slice(0, length)))
    },
    termsUntil: (now) => {
      const { year, month, day, hour, minute } = DateTime.toPartsUtc(now)
      const iso = DateTime.formatIso(now)
      const past = (length: number, separator: string, from: number, to: number) =>
        range(from, to).map((value) => toTerm(`${iso.slice(0, length)}${separator}${pad(value)}`))
      return [
        beforeFirstYear,
        ...range(firstYear, year).map((past) => toTerm(String(past))),
        ...past(prefixLengths.year, "-", 1, month),
        ...past(prefixLengths.month, "-", 1, day),
        ...past(prefixLengths.day, "T", 0, hour),
        ...(unit === "minute" ? past(prefixLengths.hour, ":", 0, minute) : []),
        toTerm(iso.slice(0, prefixLengths[unit]))
      ]
    },
    termsAfter: (now) => {
      const { year, month, day, hour, minute } = DateTime.toPartsUtc(now)
      const iso = DateTime.formatIso(now)
      const lastDay = DateTime.getPartUtc(DateTime.endOf(now, "month"), "day")
      const later = (length: number, separator: string, from: number, to: number) =>
        range(from + 1, to + 1).map((value) => `${iso.slice(0, length)}${separator}${pad(value)}`)
      return [
        ...(unit === "minute" ? later(prefixLengths.hour, ":", minute, 59) : []),
        ...later(prefixLengths.day, "T", hour, 23),
        ...later(prefixLengths.month, "-", day, lastDay),
        ...later(prefixLengths.year, "-", month, 12),
        ...range(year + 1, year + 1 + coveredYears).map(String)
      ].map((prefix) => ({
        term: toTerm(prefix),
        start: DateTime.makeUnsafe(`${prefix}${epochStart.slice(prefix.length)}`)
      }))
    }
  }
}
