/**
 * Moments in time: strict RFC 3339 with an offset on the way in, UTC with milliseconds on the way out. JavaScript's
 * own reading would take "1" for a year, and 30 February for 2 March.
 */
import { Schema } from "effect"

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/u

/** How a description tells a timestamp from other texts. */
export const timestampPattern = pattern.source

/** Years that can be written in four digits, in UTC as well. */
const isInRange = (text: string): boolean => {
  const year = new Date(text).getUTCFullYear()
  return year >= 0 && year <= 9999
}

const isCalendarDate = (text: string): boolean => {
  const [, year, month, day] = pattern.exec(text) ?? []
  const [y, m, d] = [Number(year), Number(month), Number(day)]
  // Day 0 of the next month is the last of this one. The year 2000 stands in for those that Date.UTC takes for 19xx.
  const leapAlike = y < 100 ? y + 2000 : y
  return m >= 1 && m <= 12 && d >= 1 && d <= new Date(Date.UTC(leapAlike, m, 0)).getUTCDate()
}

export const Timestamp = Schema.String.pipe(
  Schema.check(
    Schema.isPattern(pattern, { expected: "a date-time with an offset, such as 2026-01-31T12:00:00Z" }),
    Schema.makeFilter(isCalendarDate, { expected: "a day that is in the calendar" }),
    Schema.makeFilter(isInRange, { expected: "a moment from the year 0000 to 9999" })
  ),
  Schema.decodeTo(Schema.DateTimeUtcFromString)
)
