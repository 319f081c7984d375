/**
 * The plan of a customer and those that it can choose, by the names that the host gives them.
 */

import { SubscriptionStatus } from "@tollgate/core/effect"
import { ShortText, Timestamp } from "@tollgate/core/module"
import { Schema } from "effect"

const Offer = Schema.Struct({
  name: Schema.String,
  price: Schema.optionalKey(Schema.String),
  description: Schema.optionalKey(Schema.String),
  /** Where the customer changes to it, instead of here. */
  link: Schema.optionalKey(Schema.String),
  isCurrent: Schema.optionalKey(Schema.Boolean)
})

export const PortalPlans = Schema.Struct({
  current: Schema.optionalKey(
    Schema.Struct({
      name: Schema.String,
      status: SubscriptionStatus,
      trialEndsOn: Schema.optionalKey(Timestamp)
    })
  ),
  /** What the plan changes to when its period ends: another one, or none. */
  pending: Schema.optionalKey(
    Schema.Struct({
      name: Schema.optionalKey(Schema.String),
      isCanceled: Schema.optionalKey(Schema.Boolean),
      on: Timestamp
    })
  ),
  data: Schema.Array(Offer)
}).annotate({ identifier: "PortalPlans" })
export type PortalPlans = typeof PortalPlans.Type
/** The plan of a customer and those that it can choose, as plain JSON. */
export type PortalPlansJson = typeof PortalPlans.Encoded

export const PortalPlanChange = Schema.Struct({ plan: ShortText }).annotate({ identifier: "PortalPlanChange" })

export const PortalPlanChanged = Schema.Struct({
  /** Where the customer goes on, such as a checkout. Without it the plan is changed. */
  url: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "PortalPlanChanged" })
export type PortalPlanChanged = typeof PortalPlanChanged.Type
/** Where a customer goes on who changes its plan, as plain JSON. */
export type PortalPlanChangedJson = typeof PortalPlanChanged.Encoded
