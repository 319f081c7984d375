/**
 * How much of each meter a subscription has in its period, and how much of it is used.
 */
import { Schema } from "effect"
import { formatTimestamp, Timestamp } from "../schema/Timestamp.ts"
import { MeterName } from "./Plan.ts"

export const Quota = Schema.Struct({ max: Schema.Finite, used: Schema.Finite, remaining: Schema.Finite }).annotate({
  identifier: "Quota"
})
export type Quota = typeof Quota.Type

export const Quotas = Schema.Struct({
  meters: Schema.Record(Schema.String, Quota),
  periodStart: Timestamp,
  /** The first moment of the next period. */
  resetsOn: Timestamp
}).annotate({ identifier: "Quotas" })
export type Quotas = typeof Quotas.Type

/** By hand, since it is answered for every use, and an encoder would take longer than the counting. */
export const encodeQuotas = ({ meters, periodStart, resetsOn }: Quotas): typeof Quotas.Encoded => ({
  meters,
  periodStart: formatTimestamp(periodStart),
  resetsOn: formatTimestamp(resetsOn)
})

const Amount = Schema.Int.pipe(
  Schema.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }, { expected: "an integer from 1" }))
)

/** How much of which meters is to be used, all of it or none. */
export const Amounts = Schema.Record(MeterName, Amount).pipe(
  Schema.check(Schema.isMinProperties(1), Schema.isMaxProperties(50))
)
export type Amounts = typeof Amounts.Type

const meterName = /^[A-Za-z0-9_.-]{1,64}$/

/**
 * The amounts, copied and checked by hand: it is done for every use. What is none of them is left to the schema, to say
 * why.
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

export const Consumption = Schema.Struct({ meters: Amounts }).annotate({ identifier: "Consumption" })

export class SubscriptionNotActive extends Schema.TaggedError<SubscriptionNotActive>()("SubscriptionNotActive", {
  status: Schema.String
}) {
  override get message(): string {
    return `The subscription is ${this.status}: it must be active, trialing or past-due`
  }
}

export class QuotaExceeded extends Schema.TaggedError<QuotaExceeded>()("QuotaExceeded", {
  meter: Schema.String,
  max: Schema.Finite,
  resetsOn: Timestamp
}) {
  override get message(): string {
    return `That would be more than ${this.max} of "${this.meter}" in this period; nothing was counted`
  }
}

/** No plan of the subscription has that meter. */
export class UnknownMeter extends Schema.TaggedError<UnknownMeter>()("UnknownMeter", { meter: Schema.String }) {
  override get message(): string {
    return `No plan of the subscription has the meter "${this.meter}". Correct its name, or add it to a plan.`
  }
}
