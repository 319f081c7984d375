/**
 * A customer: a `customerKey` of a metering bucket with a subscription or a grant, and what it may use.
 */

import { isMaxCharacters, MeterName, ShortText, Timestamp } from "@tollgate/store/internal"
import { Schema } from "effect"
import { Features } from "./Features.ts"
import { PendingChange } from "./PendingChange.ts"
import { Subscription } from "./Subscription.ts"

/** What the plans give in a period, and what is left of it. */
const Allowance = Schema.Struct({
  max: Schema.Finite,
  used: Schema.Finite,
  remaining: Schema.Finite,
  periodStart: Timestamp,
  /** Absent if the meter never resets. */
  resetsOn: Schema.optionalKey(Timestamp)
})

/** The active grants of a meter. */
const CustomerGrants = Schema.Struct({
  /** What they give. */
  remaining: Schema.Finite,
  /** How many there are. */
  count: Schema.Int,
  nextExpiryOn: Schema.optionalKey(Timestamp)
})

const CustomerMeter = Schema.Struct({
  /** What is possible now. */
  remaining: Schema.Finite,
  /** The part of it that grants give, if there are any. */
  credit: Schema.optionalKey(Schema.Finite),
  /** What was used above the maximum, and was not taken from grants. */
  overage: Schema.Finite,
  allowance: Allowance,
  /** Set where `credit` is. */
  grants: Schema.optionalKey(CustomerGrants)
})

const CustomerMeters = Schema.Record(Schema.String, CustomerMeter)

/** A customer in a list. */
export const ListedCustomer = Schema.Struct({
  customerKey: ShortText,
  /** In any status. */
  subscriptionCount: Schema.Int,
  /** If it is asked for: the meters of the customer, as in a `get`. */
  usage: Schema.optionalKey(Schema.Struct({ meters: CustomerMeters }))
}).annotate({ identifier: "ListedCustomer" })
export type ListedCustomer = typeof ListedCustomer.Type
/** A customer in a list, as plain JSON. */
export type ListedCustomerJson = typeof ListedCustomer.Encoded

/** A customer: its newest subscriptions, and each meter of the newest subscription that may consume and has it. */
export const Customer = Schema.Struct({
  customerKey: Schema.String,
  /** Newest first, in any status: at most 20. */
  subscriptions: Schema.Array(Subscription),
  /** Of all subscriptions that may consume. */
  features: Features,
  meters: CustomerMeters,
  /** What the newest subscription with a pending change becomes when its period ends. */
  pendingChange: Schema.optionalKey(PendingChange)
}).annotate({ identifier: "Customer" })
export type Customer = typeof Customer.Type
/** A customer, as plain JSON. */
export type CustomerJson = typeof Customer.Encoded

const AdjustedAmount = Schema.Int.pipe(
  Schema.check(
    Schema.isBetween(
      { minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
      { expected: "an integer other than 0" }
    ),
    Schema.makeFilter((amount: number) => (amount === 0 ? "must be an integer other than 0" : undefined))
  )
)

const Reason = Schema.String.pipe(Schema.check(Schema.isMinLength(1), isMaxCharacters(4_096)))

/** A correction of what a customer has used: `amount` is added, or taken back if it is negative. */
export const Adjustment = Schema.Struct({
  meter: MeterName,
  amount: AdjustedAmount,
  /** When the usage occurred that it corrects, in the present period. Default: now. */
  occurredOn: Schema.optionalKey(Timestamp),
  /** Why, for the event log. */
  reason: Reason
}).annotate({ identifier: "Adjustment" })
export type Adjustment = typeof Adjustment.Type
