/**
 * What is stored of counted usage for replays of an idempotent request, beside the new values of its counters.
 */

import { type CommitResult, makeResultCodec, Timestamp } from "@tollgate/store/internal"
import { DateTime, Schema } from "effect"
import { CreditTerms } from "../model/creditTerms.ts"
import type { PeriodLimits } from "../model/Entitlement.ts"
import { MeterPeriod } from "../model/Period.ts"
import { type Amounts, makeQuota, type Quota, type Quotas } from "../model/Quota.ts"
import { ReservationId } from "../model/Reservation.ts"
import type { ReservedPeriods } from "../model/reservedPeriods.ts"
import { getUsedCounter } from "../model/usageCounters.ts"

/** Stored for replays of an idempotent request: the period in which the usage was counted, and the limits. */
export const CountReceipt = Schema.Struct({
  /** The id under which it was counted. */
  usageId: Schema.String,
  periodStart: Timestamp,
  resetsOn: Timestamp,
  maxima: Schema.Record(Schema.String, Schema.Finite),
  /** Of the meters with another period. */
  periods: Schema.optionalKey(Schema.Record(Schema.String, MeterPeriod)),
  /** Of the meters of which grants give, or gave in the period. */
  credit: Schema.optionalKey(Schema.Record(Schema.String, CreditTerms)),
  reservation: Schema.optionalKey(Schema.Struct({ id: ReservationId, expiresOn: Timestamp }))
})
export type CountReceipt = typeof CountReceipt.Type

export const receiptCodec = makeResultCodec(CountReceipt)

/** The period of a meter, if it is not that of the subscription. */
const getOtherPeriod = ({ periods }: CountReceipt, meter: string): MeterPeriod | undefined =>
  periods !== undefined && Object.hasOwn(periods, meter) ? periods[meter] : undefined

/** The quota of a meter that was counted or settled. `unchanged`: its usage, if the commit did not change its counter. */
export const toQuota = (meter: string, receipt: CountReceipt, { totals }: CommitResult, unchanged?: number): Quota => {
  const otherPeriod = getOtherPeriod(receipt, meter)
  const periodId = otherPeriod?.id ?? DateTime.toEpochMillis(receipt.periodStart)
  const used = totals.get(getUsedCounter(receipt.usageId, meter, periodId)) ?? unchanged
  const terms = receipt.credit !== undefined && Object.hasOwn(receipt.credit, meter) ? receipt.credit[meter] : undefined
  return makeQuota(receipt.maxima[meter] ?? 0, used, otherPeriod, terms)
}

/** The periods in a receipt and in a reservation, by meter: of most subscriptions, none is another. */
export const collectPeriods = (
  limits: PeriodLimits,
  amounts: Readonly<Record<string, unknown>>
): Pick<CountReceipt, "periods"> => {
  let periods: Record<string, MeterPeriod> | undefined
  for (const meter in amounts) {
    const otherPeriod = limits.meters.get(meter)?.otherPeriod
    if (otherPeriod === undefined) continue
    periods ??= {}
    periods[meter] = otherPeriod
  }
  return periods === undefined ? {} : { periods }
}

/** The credit in a receipt: most customers have none. */
export const collectCredit = (
  { meters }: PeriodLimits,
  amounts: Readonly<Record<string, unknown>>
): Pick<CountReceipt, "credit"> => {
  let credit: Record<string, CreditTerms> | undefined
  for (const meter in amounts) {
    const terms = meters.get(meter)?.credit
    if (terms === undefined) continue
    credit ??= {}
    const { charged, start, allowance, granted } = terms
    credit[meter] = { charged, start, allowance, granted }
  }
  return credit === undefined ? {} : { credit }
}

/** The periods of a reservation. */
export const toReservedPeriods = ({ periods }: CountReceipt): Pick<ReservedPeriods, "periods"> =>
  periods === undefined
    ? {}
    : { periods: Object.fromEntries(Object.entries(periods).map(([meter, { id }]) => [meter, id])) }

/** The quotas of the counted meters, for the first request and for replays. */
export const toQuotas = (amounts: Amounts, receipt: CountReceipt, commitResult: CommitResult): Quotas => {
  const meters: Record<string, Quota> = {}
  for (const meter in amounts) meters[meter] = toQuota(meter, receipt, commitResult)
  return { meters, periodStart: receipt.periodStart, resetsOn: receipt.resetsOn }
}
