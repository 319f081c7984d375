/**
 * How much of each meter a subscription has in its period, and how much of it is used.
 */
import { Schema } from "effect"
import { MeterName } from "../plans/Plan.ts"
import { Timestamp } from "../shared/Timestamp.ts"

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

const Amount = Schema.Int.pipe(
  Schema.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }, { expected: "an integer from 1" }))
)

/** How much of which meters is to be used, all of it or none. */
export const Amounts = Schema.Record(MeterName, Amount).pipe(
  Schema.check(Schema.isMinProperties(1), Schema.isMaxProperties(50))
)
export type Amounts = typeof Amounts.Type

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
    return `No plan of this subscription has the meter "${this.meter}"`
  }
}
