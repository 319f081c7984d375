/**
 * What is stored of counted usage for replays of an idempotent request, beside the new values of its counters.
 */
import { DateTime, Schema } from "effect"
import { Timestamp } from "../../schema/Timestamp.ts"
import { makeResultCodec } from "../../store/Idempotency.ts"
import type { CommitResult } from "../../store/Store.ts"
import { type Amounts, makeQuota, type Quota, type Quotas } from "../model/Quota.ts"
import { ReservationId } from "../model/Reservation.ts"
import { getUsedCounter } from "../model/usageCounters.ts"

/** Stored for replays of an idempotent request: the period in which the usage was counted, and the limits. */
export const CountReceipt = Schema.Struct({
  subscriptionId: Schema.String,
  periodStart: Timestamp,
  resetsOn: Timestamp,
  maxima: Schema.Record(Schema.String, Schema.Finite),
  reservation: Schema.optionalKey(Schema.Struct({ id: ReservationId, expiresOn: Timestamp }))
})
export type CountReceipt = typeof CountReceipt.Type

export const receiptCodec = makeResultCodec(CountReceipt)

/** The quotas of the counted meters, for the first request and for replays. */
export const toQuotas = (
  subscriptionId: string,
  amounts: Amounts,
  { periodStart, resetsOn, maxima }: CountReceipt,
  { totals }: CommitResult
): Quotas => {
  const meters: Record<string, Quota> = {}
  for (const meter in amounts) {
    const counter = getUsedCounter(subscriptionId, meter, DateTime.toEpochMillis(periodStart))
    meters[meter] = makeQuota(maxima[meter] ?? 0, totals.get(counter))
  }
  return { meters, periodStart, resetsOn }
}
