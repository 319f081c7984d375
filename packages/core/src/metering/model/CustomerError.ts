import { defineError } from "@tollgate/store/internal"
import { Schema } from "effect"

export class CustomerNotFound extends defineError<CustomerNotFound>()(
  "CustomerNotFound",
  {
    code: "customer-not-found",
    status: 404,
    title: "Customer not found",
    meaning: "The metering bucket has no subscription with this `customerKey`, and where grants are enough, no grant.",
    remedy: "Check the `customerKey` and the metering bucket. Create a subscription for a new customer.",
    detail: ({ customerKey }) => `No subscription in this metering bucket has the customerKey "${customerKey}"`
  },
  { customerKey: Schema.String.annotate({ description: "The requested `customerKey`." }) }
) {}

export class BelowZero extends defineError<BelowZero>()(
  "BelowZero",
  {
    code: "below-zero",
    status: 422,
    title: "Adjustment below zero",
    meaning: "The adjustment would take back more than was used in the period. What is reserved is not used yet.",
    remedy: "Take back at most what was used.",
    detail: ({ meter, used }) => `Only ${used} of the meter "${meter}" were used in this period. Nothing was changed.`
  },
  {
    meter: Schema.String.annotate({ description: "The name of the meter." }),
    used: Schema.Finite.annotate({ description: "What was used in the period, without open reservations." })
  }
) {}

export class OutsidePeriod extends defineError<OutsidePeriod>()(
  "OutsidePeriod",
  {
    code: "outside-period",
    status: 422,
    title: "Outside the present period",
    meaning: "The time of the adjustment is not in the present period of the meter, or has not come yet.",
    remedy: "Adjust the present period. Periods that are over do not change.",
    detail: ({ meter }) => `occurredOn is in another period of the meter "${meter}", or in the future`
  },
  { meter: Schema.String.annotate({ description: "The name of the meter." }) }
) {}
