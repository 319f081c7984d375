/**
 * Quotas: the limit and the usage of each meter in a period. Also the input of `consume`.
 */

import { formatTimestamp, recordByShortName, Timestamp } from "@tollgate/store/internal"
import { type DateTime, Schema } from "effect"
import { type CreditTerms, getCreditUsed } from "./creditTerms.ts"
import type { MeterPeriod } from "./Period.ts"

/** The limit of one meter in its current period, what is used of it, and what remains. */
export const Quota = Schema.Struct({
  max: Schema.Finite,
  used: Schema.Finite,
  remaining: Schema.Finite,
  /** The part of `remaining` that grants give, if there are any. */
  credit: Schema.optionalKey(Schema.Finite),
  /** What was used above `max`, and was not taken from grants, if anything. */
  overage: Schema.optionalKey(Schema.Finite),
  /** The period of the meter, if it is not that of the subscription. One that never ends has no `resetsOn`. */
  periodStart: Schema.optionalKey(Timestamp),
  resetsOn: Schema.optionalKey(Timestamp)
}).annotate({ identifier: "Quota" })
export type Quota = typeof Quota.Type

/** Makes a quota. `otherPeriod` is the period of the meter, if it is not that of the subscription. */
export const makeQuota = (
  max: number,
  used = 0,
  otherPeriod?: MeterPeriod | undefined,
  terms?: CreditTerms | undefined
): Quota => {
  const given = terms === undefined ? 0 : getCreditUsed(terms, used)
  const ofPlans = terms === undefined ? used : used - terms.charged - given
  const quota: Quota = { max, used, remaining: Math.max(0, max - ofPlans) }
  if (ofPlans <= max && otherPeriod === undefined && terms === undefined) return quota
  const credit = terms === undefined ? 0 : terms.granted - given
  return {
    ...quota,
    ...(terms && { remaining: Math.min(quota.remaining + credit, Number.MAX_SAFE_INTEGER), credit }),
    ...(ofPlans > max ? { overage: ofPlans - max } : {}),
    ...(otherPeriod && { periodStart: otherPeriod.start }),
    ...(otherPeriod?.end && { resetsOn: otherPeriod.end })
  }
}

/** The quotas of a subscription, by meter, and the period in which they apply. */
export const Quotas = Schema.Struct({
  meters: Schema.Record(Schema.String, Quota),
  periodStart: Timestamp,
  /** The start of the next period. */
  resetsOn: Timestamp
}).annotate({ identifier: "Quotas" })
export type Quotas = typeof Quotas.Type
/** The quotas of a subscription, as plain JSON. */
export type QuotasJson = typeof Quotas.Encoded

/** Written by hand for speed: every metered request returns quotas, and a schema encoder takes longer than counting. */
export const encodeQuotas = ({ meters, periodStart, resetsOn }: Quotas): typeof Quotas.Encoded => {
  const encoded: Record<string, typeof Quota.Encoded> = {}
  for (const meter in meters) {
    const { periodStart: start, resetsOn: end, ...quota } = meters[meter] as Quota
    encoded[meter] = start === undefined ? quota : { ...quota, ...encodePeriod(start, end) }
  }
  return { meters: encoded, periodStart: formatTimestamp(periodStart), resetsOn: formatTimestamp(resetsOn) }
}

const encodePeriod = (periodStart: DateTime.Utc, resetsOn: DateTime.Utc | undefined) => ({
  periodStart: formatTimestamp(periodStart),
  ...(resetsOn && { resetsOn: formatTimestamp(resetsOn) })
})

const Amount = Schema.Int.pipe(
  Schema.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }, { expected: "a positive integer" }))
)

/** The amount to count on each meter. */
export const Amounts = recordByShortName(Amount).pipe(
  Schema.check(Schema.isMinProperties(1), Schema.isMaxProperties(50))
)
export type Amounts = typeof Amounts.Type

const meterName = /^[A-Za-z0-9_.-]{1,64}$/

/**
 * Validates and copies amounts without a schema, for speed. Returns `undefined` for invalid input; the caller then
 * decodes it with the schema to get an error message.
 */
export const parseAmounts = (meters: unknown): Amounts | undefined => {
  if (typeof meters !== "object" || meters === null || Object.getPrototypeOf(meters) !== Object.prototype)
    return undefined
  const names = Reflect.ownKeys(meters)
  if (names.length < 1 || names.length > 50) return undefined
  const amounts: Record<string, number> = {}
  for (const name of names) {
    if (typeof name !== "string" || name === "__proto__" || !meterName.test(name)) return undefined
    const amount: unknown = (meters as Readonly<Record<string, unknown>>)[name]
    if (typeof amount !== "number" || !Number.isSafeInteger(amount) || amount < 1) return undefined
    amounts[name] = amount
  }
  return amounts
}

/** The input of `consume`: the amount to count on each meter. */
export const Consumption = Schema.Struct({ meters: Amounts }).annotate({ identifier: "Consumption" })
