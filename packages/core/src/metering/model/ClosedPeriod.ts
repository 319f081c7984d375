/**
 * The final numbers of a period: what each meter used, and which source gave it.
 */

import { Timestamp } from "@tollgate/store/internal"
import { Schema } from "effect"
import { MeteringBucketId } from "./MeteringBucket.ts"
import { SubscriptionId, SubscriptionStatus } from "./Subscription.ts"

/** What a meter used in a period: `used` is the sum of `allowance`, `credit` and `overage`. */
export const MeterTotals = Schema.Struct({
  /** The maximum of the plans when the period ended. Absent if they had dropped the meter. */
  max: Schema.optionalKey(Schema.Finite),
  used: Schema.Finite,
  /** What plans gave. */
  allowance: Schema.Finite,
  /** What grants gave. */
  credit: Schema.Finite,
  /** What was used beyond both. */
  overage: Schema.Finite
}).annotate({ identifier: "MeterTotals" })
export type MeterTotals = typeof MeterTotals.Type

export const MetersTotals = Schema.Record(Schema.String, MeterTotals)
export type MetersTotals = typeof MetersTotals.Type

/** The data of the event `period.closed`. */
export const ClosedPeriod = Schema.Struct({
  /** Identifies the period: the id under which its usage is counted, its kind and its start. */
  id: Schema.String,
  /** 1 in `period.closed`, and one more in each `period.corrected` of the period. */
  revision: Schema.Int,
  meteringBucketId: MeteringBucketId,
  subscriptionId: SubscriptionId,
  customerKey: Schema.String,
  customerExternalId: Schema.String,
  /** The plans and the status when the period ended. */
  planExternalIds: Schema.Array(Schema.String),
  status: SubscriptionStatus,
  period: Schema.Literals(["month", "year"]),
  periodStart: Timestamp,
  /** Exclusive. Also if the subscription ended before. */
  periodEnd: Timestamp,
  /** Why it was closed: because it was over, or because the subscription was canceled or deleted. */
  closedBy: Schema.Literals(["period-end", "canceled", "deleted"]),
  meters: MetersTotals
})
export type ClosedPeriod = typeof ClosedPeriod.Type

/** The data of the event `period.corrected`. */
export const CorrectedPeriod = Schema.Struct({
  ...ClosedPeriod.fields,
  /** What the revision before said of the meters that have changed. */
  previous: MetersTotals
})
export type CorrectedPeriod = typeof CorrectedPeriod.Type
