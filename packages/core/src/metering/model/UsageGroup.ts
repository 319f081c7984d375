/**
 * Usage by key, or by the values of a label.
 */
import { Schema } from "effect"

/** How many values each group has of a subscription on a day, and of the whole bucket. The others are added up. */
export const maxValues = { subscription: 100, bucket: 500 } as const

/** `key`, or `label:` and the name of a label. */
export const GroupBy = Schema.String.pipe(
  Schema.check(
    Schema.isPattern(/^(key|label:[A-Za-z0-9_.-]{1,64})$/u, { expected: "key, or label: and the name of a label" })
  )
)
export type GroupBy = typeof GroupBy.Type

const AmountByMeter = Schema.Record(Schema.String, Schema.Finite)

export const UsageGroup = Schema.Struct({
  /** With `groupBy=key`. */
  keyId: Schema.optionalKey(Schema.String),
  keyBucketName: Schema.optionalKey(Schema.String),
  /** The value of the label. */
  value: Schema.optionalKey(Schema.String),
  /** What was used of each meter; one that was not used is absent. */
  meters: AmountByMeter
}).annotate({ identifier: "UsageGroup" })
export type UsageGroup = typeof UsageGroup.Type

/** What a step has with `groupBy`. Together it is what was used. */
export const groupFields = {
  groups: Schema.optionalKey(Schema.Array(UsageGroup)),
  /** Of further keys or values, beyond those that are kept apart. */
  other: Schema.optionalKey(AmountByMeter),
  /** What was used without a key or this label, and what is not written yet. */
  unknown: Schema.optionalKey(AmountByMeter)
}

/** What was used in all, less what belongs to groups. Negative where usage was corrected. */
export const getUnknown = (
  total: UsageGroup["meters"],
  known: ReadonlyArray<UsageGroup["meters"]>
): UsageGroup["meters"] => {
  const rest = Object.entries(total).map(([meter, amount]) => {
    const left = known.reduce(
      (left, meters) => left - (Object.hasOwn(meters, meter) ? (meters[meter] ?? 0) : 0),
      amount
    )
    return [meter, left] as const
  })
  return Object.fromEntries(rest.filter(([, left]) => left !== 0))
}
