/**
 * The inputs that change the plans of a customer, now or when the period ends, and that cancel its subscription.
 */

import { ShortText } from "@tollgate/store/internal"
import { Schema } from "effect"
import { Share, uniqueList } from "./Subscription.ts"

const changeTime = Schema.Literals(["now", "period-end"]).annotate({ message: 'must be "now" or "period-end"' })

/** The prorated share would apply to a period that is over. */
const prorateNeedsNow = Schema.makeFilter(
  ({ at, prorate }: { readonly at: "now" | "period-end"; readonly prorate?: number }) =>
    prorate === undefined || at === "now" ? undefined : { path: ["prorate"], issue: 'needs at: "now"' }
)

/** The plans that a customer changes to. */
export const PlanChange = Schema.Struct({
  planExternalIds: uniqueList(ShortText),
  at: changeTime,
  /** The share of the new limits that applies until the period ends. */
  prorate: Schema.optionalKey(Share)
})
  .annotate({ identifier: "PlanChange" })
  .pipe(Schema.check(prorateNeedsNow))
export type PlanChange = typeof PlanChange.Type

/** When a subscription is canceled. */
export const Cancellation = Schema.Struct({ at: changeTime }).annotate({ identifier: "Cancellation" })
export type Cancellation = typeof Cancellation.Type
