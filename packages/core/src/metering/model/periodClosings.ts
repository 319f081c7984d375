/**
 * Up to when the periods of a subscription are closed, and when the next is due. One record for each id under which usage is
 * counted, written with the subscription: counting does not touch it.
 */

import { Collection, makeTimeIndex, Timestamp } from "@tollgate/store/internal"
import { DateTime, Schema } from "effect"
import { ClosedPeriod, MetersTotals } from "./ClosedPeriod.ts"
import { PeriodId } from "./Period.ts"
import { SubscriptionId, SubscriptionStatus } from "./Subscription.ts"

/** What applied when a period ended, if the subscription was changed before the period was closed. */
const EndedPeriod = Schema.Struct({
  id: PeriodId,
  status: SubscriptionStatus,
  planExternalIds: Schema.Array(Schema.String),
  maxima: Schema.Record(Schema.String, Schema.Finite)
})
export type EndedPeriod = typeof EndedPeriod.Type

/** A period that was closed, and what its last event said. Kept as long as it can change. */
const ToldPeriod = Schema.Struct({
  id: PeriodId,
  kind: ClosedPeriod.fields.period,
  /** Epoch milliseconds. */
  start: Schema.Int,
  end: Schema.Int,
  closedBy: ClosedPeriod.fields.closedBy,
  status: SubscriptionStatus,
  planExternalIds: Schema.Array(Schema.String),
  /** 0 if there was no meter, and so no event. */
  revision: Schema.Int,
  meters: MetersTotals
})
export type ToldPeriod = typeof ToldPeriod.Type

export const PeriodClosing = Schema.Struct({
  /** The id under which usage is counted. */
  usageId: SubscriptionId,
  /** The subscription that counts there: the one that began, or returned, last. */
  subscriptionId: SubscriptionId,
  customerKey: Schema.String,
  /** Periods that end by then are closed, in epoch milliseconds: the end of a month. */
  closedUpTo: Schema.Int,
  /** When there is something to do. */
  dueOn: Schema.optionalKey(Timestamp),
  /** In epoch milliseconds, if the subscription is canceled. */
  canceledOn: Schema.optionalKey(Schema.Int),
  /** Whether everything until then is closed. */
  isEnded: Schema.optionalKey(Schema.Boolean),
  /** Whether a closed period may have changed. */
  isChanged: Schema.optionalKey(Schema.Boolean),
  ended: Schema.Array(EndedPeriod),
  told: Schema.Array(ToldPeriod)
})
export type PeriodClosing = typeof PeriodClosing.Type

export const closingTimes = makeTimeIndex("closes", "minute")

/** The name is stored and cannot change. */
export const closingRecords = Collection.make({
  name: "period-closing",
  countsBytes: false,
  format: 1,
  schema: PeriodClosing,
  key: ({ usageId }) => usageId,
  indexTerms: ({ dueOn }) => (dueOn === undefined ? [] : closingTimes.terms(dueOn))
})

/** Whether a period is closed for good, so that more usage in it is a correction. */
export const isClosed = ({ closedUpTo, isEnded = false, told }: PeriodClosing, id: PeriodId): boolean =>
  told.some((period) => period.id === id && (isEnded || period.end <= closedUpTo))

/** Looks at what was told again, at the latest at a time. */
export const withChange = (closing: PeriodClosing, time: DateTime.Utc): PeriodClosing => ({
  ...closing,
  isChanged: true,
  dueOn: closing.dueOn === undefined ? time : DateTime.min(closing.dueOn, time)
})
