/**
 * Usage over time: the steps of a series, and how much of each meter was used in each.
 */
import { DateTime, Schema } from "effect"
import { Timestamp } from "../../schema/Timestamp.ts"

/** The length of a step of a `UsageSeries`. */
export const UsageStep = Schema.Literals(["hour", "day", "period"])
export type UsageStep = typeof UsageStep.Type

/** What was used in each hour, day or period of a range. */
export const UsageSeries = Schema.Struct({
  // Generators of clients name the type of the parameter `step` as they would name that of this field.
  step: UsageStep.annotate({ identifier: "UsageStep" }),
  /** The start of the first step. */
  from: Timestamp,
  /** The end of the last step. */
  to: Timestamp,
  /** Oldest first, without gaps. */
  data: Schema.Array(
    Schema.Struct({ start: Timestamp, end: Timestamp, meters: Schema.Record(Schema.String, Schema.Finite) })
  )
}).annotate({ identifier: "UsageSeries" })
export type UsageSeries = typeof UsageSeries.Type
/** What was used in each step of a range, as plain JSON. */
export type UsageSeriesJson = typeof UsageSeries.Encoded

/** As CSV: a line per step, and a column per meter, sorted by name. Names of meters need no quotes. */
export const toCsv = ({ data }: UsageSeries): string => {
  const meters = Object.keys(data[0]?.meters ?? {}).sort()
  const lines = data.map(({ start, end, meters: amounts }) =>
    [DateTime.formatIso(start), DateTime.formatIso(end), ...meters.map((meter) => amounts[meter] ?? 0)].join(",")
  )
  return [["start", "end", ...meters].join(","), ...lines, ""].join("\r\n")
}
