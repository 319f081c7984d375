/**
 * Usage over time: the steps of a series, and how much of each meter was used in each.
 */

import { Timestamp } from "@tollgate/store/internal"
import { DateTime, Schema } from "effect"
import { toLines } from "./csv.ts"
import { GroupBy, groupFields } from "./UsageGroup.ts"

/** The length of a step of a `UsageSeries`. */
export const UsageStep = Schema.Literals(["hour", "day", "period"])
export type UsageStep = typeof UsageStep.Type

/** What was used in each hour, day or period of a range. */
export const UsageSeries = Schema.Struct({
  // Generators of clients name the type of the parameter `step` as they would name that of this field.
  step: UsageStep.annotate({ identifier: "UsageStep" }),
  groupBy: Schema.optionalKey(GroupBy),
  /** The start of the first step. */
  from: Timestamp,
  /** The end of the last step. */
  to: Timestamp,
  /** Oldest first, without gaps. */
  data: Schema.Array(
    Schema.Struct({
      start: Timestamp,
      end: Timestamp,
      meters: Schema.Record(Schema.String, Schema.Finite),
      ...groupFields
    })
  )
}).annotate({ identifier: "UsageSeries" })
export type UsageSeries = typeof UsageSeries.Type
/** What was used in each step of a range, as plain JSON. */
export type UsageSeriesJson = typeof UsageSeries.Encoded

/** The parts of a step: the kind of each, its name, and what it used. */
const toParts = ({ groups, other, unknown, meters }: UsageSeries["data"][number]) => {
  if (groups === undefined) return [{ names: [], amounts: meters }]
  return [
    ...groups.map(({ keyId, value, meters }) => ({
      names: keyId === undefined ? ["label", value ?? ""] : ["key", keyId],
      amounts: meters
    })),
    { names: ["other", ""], amounts: other ?? {} },
    { names: ["unknown", ""], amounts: unknown ?? {} }
  ]
}

/** As CSV: a line per step, or per group and step, and a column per meter, sorted by name. */
export const toCsv = ({ data, groupBy }: Pick<UsageSeries, "data" | "groupBy">): string => {
  const meters = Object.keys(data[0]?.meters ?? {}).sort()
  const names = groupBy === undefined ? [] : ["kind", "group"]
  return toLines([
    ["start", "end", ...names, ...meters],
    ...data.flatMap((step) => {
      const times = [DateTime.formatIso(step.start), DateTime.formatIso(step.end)]
      return toParts(step).map(({ names, amounts }) => [
        ...times,
        ...names,
        ...meters.map((meter) => (Object.hasOwn(amounts, meter) ? (amounts[meter] ?? 0) : 0))
      ])
    })
  ])
}
