import { addHidden, defineError, Timestamp } from "@tollgate/store/internal"
import { type DateTime, Schema } from "effect"
import type { HeaderPolicy } from "../../rateLimits/rateLimitHeaders.ts"

export class SubscriptionNotActive extends defineError<SubscriptionNotActive>()(
  "SubscriptionNotActive",
  {
    code: "subscription-not-active",
    status: 403,
    title: "Subscription not active",
    meaning:
      "The subscription does not allow use: its status is not `active`, `trialing` or `past-due`. On a protected " +
      "route, the customer may also have no subscription.",
    remedy: "Subscribe the customer to a plan, or set the status to `active` once the invoice is paid.",
    detail: ({ subscriptionStatus = "not active" }) =>
      `The subscription is ${subscriptionStatus}; it must be active, trialing or past-due`
  },
  {
    subscriptionStatus: Schema.optionalKey(
      Schema.String.annotate({
        description:
          "The status of the subscription. Absent on protected routes and when usage is recorded for a customer."
      })
    )
  }
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
    meaning: "The amount would exceed the quota of a meter in the current period. Nothing was counted.",
    remedy:
      "Wait until `resetsOn`, if there is one, use a smaller amount, or move the subscription to a plan with a larger quota. " +
      "`Retry-After` has the seconds to wait.",
    detail: ({ meter, max, resetsOn }) =>
      `This would exceed the limit of ${max} for meter "${meter}"${resetsOn === undefined ? "" : " in this period"}. ` +
      "Nothing was counted."
  },
  {
    meter: Schema.String.annotate({ description: "The name of the meter." }),
    max: Schema.Finite.annotate({ description: "The quota in this period, with a soft limit also the overage." }),
    resetsOn: Schema.optionalKey(
      Timestamp.annotate({ description: "When the next period begins. Absent if the quota never resets." })
    )
  }
) {
  /** What is left of the quota, for the headers of the response. `undefined` in a client, which does not know it. */
  declare readonly policy: HeaderPolicy | undefined

  constructor(members: {
    readonly meter: string
    readonly max: number
    readonly resetsOn?: DateTime.Utc
    readonly policy?: HeaderPolicy | undefined
    readonly detail?: string
  }) {
    const { policy, ...rest } = members
    super(rest)
    addHidden(this, { policy })
  }
}

export class UnknownMeter extends defineError<UnknownMeter>()(
  "UnknownMeter",
  {
    code: "unknown-meter",
    status: 422,
    title: "Unknown meter",
    meaning: "No plan of the subscription has this meter, or the metering bucket never had it.",
    remedy: "Correct the name of the meter, or add the meter to a plan.",
    detail: ({ meter }) =>
      `No plan of the subscription has the meter "${meter}". Correct the name or add the meter to a plan.`
  },
  { meter: Schema.String.annotate({ description: "The requested name." }) }
) {}
