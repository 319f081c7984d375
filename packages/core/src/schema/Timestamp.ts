/**
 * Moments in time: strict RFC 3339 with an offset on the way in, UTC with milliseconds on the way out. JavaScript's
 * own reading would take "1" for a year, and 30 February for 2 March.
 */
import { DateTime, Schema, SchemaGetter, SchemaTransformation } from "effect"

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/u

/** How a description tells a timestamp from other texts. */
export const timestampPattern = pattern.source

const days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** A day that is in the calendar, and a year that can be written in four digits, in UTC as well. */
const isCalendarDate = (text: string): boolean => {
  const [y, m, d] = [Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8, 10))]
  const isLeap = y % 4 === 0 && (y % 100 !== 0 || y % 400 === 0)
  if (m < 1 || m > 12 || d < 1 || d > (m === 2 && isLeap ? 29 : (days[m - 1] ?? 0))) return false
  const year = new Date(text).getUTCFullYear()
  return year >= 0 && year <= 9999
}

const formatted = new WeakMap<DateTime.Utc, string>()

/** A moment as it is written. What is stored is read once and shown often, so that is done once for each. */
export const formatTimestamp = (moment: DateTime.Utc): string => {
  const known = formatted.get(moment)
  if (known !== undefined) return known
  const text = DateTime.formatIso(moment)
  formatted.set(moment, text)
  return text
}

export const Timestamp = Schema.String.pipe(
  Schema.check(
    Schema.isPattern(pattern, { expected: "a date-time with an offset, such as 2026-01-31T12:00:00Z" }),
    Schema.makeFilter(isCalendarDate, { expected: "a day that is in the calendar, in the years 0000 to 9999" })
  ),
  // JavaScript misreads fractions of many digits; more than a millisecond is not kept.
  Schema.decode({
    decode: SchemaGetter.transform((text: string) => text.replace(/(\.\d{3})\d+/, "$1")),
    encode: SchemaGetter.passthrough()
  }),
  Schema.decodeTo(
    Schema.DateTimeUtc,
    SchemaTransformation.transform({ decode: (text: string) => DateTime.makeUnsafe(text), encode: formatTimestamp })
  )
)
