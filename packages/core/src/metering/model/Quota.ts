/**
 * Quotas: the limit and the usage of each meter in a period. Also the input of `consume`.
 */
import { Schema } from "effect"
import { recordByShortName } from "../../schema/Names.ts"
import { formatTimestamp, Timestamp } from "../../schema/Timestamp.ts"

/** The limit of one meter in the current period, what is used of it, and what remains. */
export const Quota = Schema.Struct({ max: Schema.Finite, used: Schema.Finite, remaining: Schema.Finite }).annotate({
  identifier: "Quota"
})
export type Quota = typeof Quota.Type

export const makeQuota = (max: number, used = 0): Quota => ({ max, used, remaining: Math.max(0, max - used) })

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
export const encodeQuotas = ({ meters, periodStart, resetsOn }: Quotas): typeof Quotas.Encoded => ({
  meters,
  periodStart: formatTimestamp(periodStart),
  resetsOn: formatTimestamp(resetsOn)
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
