import { Schema } from "effect"
import { defineError } from "../errors/defineError.ts"
import { Timestamp } from "../schema/Timestamp.ts"

export class SubscriptionNotActive extends defineError<SubscriptionNotActive>()(
  "SubscriptionNotActive",
  {
    code: "subscription-not-active",
    status: 403,
    title: "Subscription not active",
    detail: ({ subscriptionStatus = "not active" }) =>
      `The subscription is ${subscriptionStatus}; it must be active, trialing or past-due`
  },
  { subscriptionStatus: Schema.optionalKey(Schema.String) }
) {}

/**
 * The limit has one name per layer: the store rejects the commit with the `StoreConflict` reason `counter-exceeded`,
 * `Usage` fails with `QuotaExceeded`, `authorize` denies with `over-quota`, and the HTTP API returns the problem
 * `quota-exceeded`.
 */
export class QuotaExceeded extends defineError<QuotaExceeded>()(
  "QuotaExceeded",
  {
    code: "quota-exceeded",
    status: 429,
    title: "Quota exceeded",
    detail: ({ meter, max }) =>
      `This would exceed the limit of ${max} for meter "${meter}" in this period. Nothing was counted.`
  },
  { meter: Schema.String, max: Schema.Finite, resetsOn: Timestamp }
) {}

export class UnknownMeter extends defineError<UnknownMeter>()(
  "UnknownMeter",
  {
    code: "unknown-meter",
    status: 422,
    title: "Unknown meter",
    detail: ({ meter }) =>
      `No plan of the subscription has the meter "${meter}". Correct the name or add the meter to a plan.`
  },
  { meter: Schema.String }
) {}
