/**
 * A subscription: which plans a customer has, in which state, and from when its quotas are counted.
 */
import { Schema } from "effect"
import { Id } from "../crypto/Id.ts"
import { Metadata } from "../schema/Metadata.ts"
import { LongText, ShortText } from "../schema/Text.ts"
import { Timestamp } from "../schema/Timestamp.ts"
import { PlanId } from "./Plan.ts"

export const SubscriptionId = Id("sbsc").pipe(Schema.brand("SubscriptionId"))
export type SubscriptionId = typeof SubscriptionId.Type

export const SubscriptionStatus = Schema.Literals([
  "active",
  "inactive",
  "incomplete",
  "incomplete-expired",
  "trialing",
  "past-due",
  "canceled",
  "unpaid"
])
export type SubscriptionStatus = typeof SubscriptionStatus.Type

const consuming: ReadonlySet<SubscriptionStatus> = new Set(["active", "trialing", "past-due"])

/** Whether quotas may be used in this state. */
export const canConsume = (status: SubscriptionStatus): boolean => consuming.has(status)

const isWithoutRepeats = (items: ReadonlyArray<string>): boolean => new Set(items).size === items.length

/** At least one, at most fifty, no two alike. */
const names = <S extends Schema.Codec<string, string>>(item: S) =>
  Schema.Array(item).pipe(
    Schema.check(
      Schema.isMinLength(1),
      Schema.isMaxLength(50),
      Schema.makeFilter(isWithoutRepeats, { expected: "no entry twice" })
    )
  )

const sharedFields = {
  status: SubscriptionStatus,
  type: Schema.Literals(["periodic"]),
  renewalStrategy: Schema.Literals(["monthly", "yearly"]),
  region: Schema.Literals(["us-central1", "us-east1", "europe-west4"]),
  customerKey: ShortText,
  subscriptionExternalId: ShortText,
  customerExternalId: ShortText,
  metadata: Schema.optionalKey(Metadata),
  trialEndStatus: Schema.optionalKey(Schema.String),
  trialEndDate: Schema.optionalKey(Timestamp),
  trialStartDate: Schema.optionalKey(Timestamp),
  productKey: Schema.optionalKey(Schema.String)
}

const generatedFields = { id: SubscriptionId, createdOn: Timestamp, updatedOn: Timestamp }

export const SubscriptionCreate = Schema.Struct({
  planIds: names(ShortText),
  planExternalIds: names(ShortText),
  ...sharedFields,
  trialEndStatus: Schema.optionalKey(LongText),
  productKey: Schema.optionalKey(LongText),
  quotaResetAnchor: Schema.optionalKey(Timestamp),
  nextBillingCycle: Schema.optionalKey(Timestamp)
}).annotate({ identifier: "SubscriptionCreate" })
export type SubscriptionCreate = typeof SubscriptionCreate.Type

export const SubscriptionUpdate = Schema.Struct({
  planExternalIds: Schema.optionalKey(names(ShortText)),
  status: Schema.optionalKey(SubscriptionStatus),
  prorate: Schema.optionalKey(Schema.Finite.pipe(Schema.check(Schema.isBetween({ minimum: 0, maximum: 1 })))),
  metadata: Schema.optionalKey(Metadata),
  trialEndDate: Schema.optionalKey(Timestamp)
}).annotate({ identifier: "SubscriptionUpdate" })
export type SubscriptionUpdate = typeof SubscriptionUpdate.Type

export const Subscription = Schema.Struct({
  ...generatedFields,
  planIds: Schema.Array(PlanId),
  planExternalIds: Schema.Array(Schema.String),
  ...sharedFields,
  quotaResetAnchor: Timestamp,
  nextBillingCycle: Timestamp
}).annotate({ identifier: "Subscription" })
export type Subscription = typeof Subscription.Type

export const StoredSubscription = Schema.Struct({
  ...generatedFields,
  planIds: Schema.Array(PlanId),
  ...sharedFields,
  quotaResetAnchor: Timestamp,
  nextBillingCycle: Schema.optionalKey(Timestamp),
  /** The share of the plans' maxima that counts in the period that begins then. */
  prorated: Schema.optionalKey(Schema.Struct({ periodStart: Timestamp, share: Schema.Finite }))
})
export type StoredSubscription = typeof StoredSubscription.Type
