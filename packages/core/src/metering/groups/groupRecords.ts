/**
 * What was used by key and by label on each day: a record for each subscription, and one for the whole metering bucket. Its
 * bounds are the numbers below, however many values callers send.
 */

import { Collection, makeTimeIndex, Partition } from "@tollgate/store/internal"
import { DateTime, Schema } from "effect"
import { dayMs } from "../model/clockSteps.ts"
import { keptDays } from "../model/usageCounters.ts"

/** Apart from the metering bucket, so that nothing that counts waits for what is written here. */
export const getGroupsPartition = (bucketId: string): Partition.Partition => Partition.make("stats", bucketId)

/** How many values a subscription adds to a group of the bucket on a day, so that none uses up the room of the others. */
export const maxIntroduced = 10
/** How many labels are grouped by on a day. */
export const maxLabelNames = 10

/** The group of usage by key. Those of labels begin with `label:`. The names are stored and cannot change. */
export const keyGroup = "key"
export const toLabelGroup = (name: string): string => `label:${name}`

/** Stands for the subscription in the record of the whole bucket. */
export const wholeBucket = ""

const AmountByMeter = Schema.Record(Schema.String, Schema.Finite)

export const DayGroups = Schema.Struct({
  /** The id under which the subscription counts, or `wholeBucket`. */
  usageId: Schema.String,
  /** Since the epoch. */
  day: Schema.Int,
  groups: Schema.Record(
    Schema.String,
    Schema.Struct({
      /** In the order in which they were first written. */
      values: Schema.Array(Schema.Tuple([Schema.String, AmountByMeter])),
      /** Of all other values. */
      other: AmountByMeter
    })
  )
})
export type DayGroups = typeof DayGroups.Type

/** When records are removed. */
export const removals = makeTimeIndex("removal", "hour")
export const findRemoval = ({ day }: Pick<DayGroups, "day">): DateTime.Utc =>
  DateTime.makeUnsafe((day + keptDays + 2) * dayMs)

export const getGroupsKey = (usageId: string, day: number): string => `${usageId}/${day}`

export const groupRecords = Collection.make({
  name: "usage-groups",
  format: 1,
  countsBytes: false,
  schema: DayGroups,
  key: ({ usageId, day }) => getGroupsKey(usageId, day),
  indexTerms: (groups) => removals.terms(findRemoval(groups))
})
