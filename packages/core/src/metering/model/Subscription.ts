/**
 * A subscription: a customer's plans, its status, and the anchor of its quota periods. A customer is a consumer that
 * has subscriptions.
 */

import {
  clearableFields,
  Id,
  LongText,
  Metadata,
  noDuplicates,
  optionalFields,
  ShortText,
  Timestamp
} from "@tollgate/store/internal"
import { Schema } from "effect"
import { Overrides } from "./Overrides.ts"
import { PendingChange, StoredPendingChange } from "./PendingChange.ts"
import { PlanId } from "./Plan.ts"
import { Quotas } from "./Quota.ts"

/** The id of a subscription. It begins with `sbsc_`. */
export const SubscriptionId = Id("sbsc").pipe(Schema.brand("SubscriptionId"))
export type SubscriptionId = typeof SubscriptionId.Type

/** The status of a subscription. Only `active`, `trialing` and `past-due` allow usage. */
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

/** The statuses that allow usage. */
export const consumingStatuses: ReadonlyArray<SubscriptionStatus> = ["active", "trialing", "past-due"]

/** Whether this status allows usage. */
export const canConsume = (status: SubscriptionStatus): boolean => consumingStatuses.includes(status)

/** 1 to 50 entries without duplicates. */
export const uniqueList = <S extends Schema.Codec<string, string>>(item: S) =>
  Schema.Array(item).pipe(Schema.check(Schema.isMinLength(1), Schema.isMaxLength(50), noDuplicates))

/** The optional fields that an update may change too. */
const changeableFields = { metadata: Metadata, trialEndDate: Timestamp, overrides: Overrides }

/** The fields that callers set, and of which an update changes the status. Everything else is derived from here. */
const sharedFields = {
  status: SubscriptionStatus,
  type: Schema.Literal("periodic"),
  renewalStrategy: Schema.Literals(["monthly", "yearly"]),
  /** Stored for the caller; Tollgate does not use it. */
  region: Schema.Literals(["us-central1", "us-east1", "europe-west4"]),
  /** The name of the consumer that the subscription belongs to. */
  customerKey: ShortText,
  subscriptionExternalId: ShortText,
  customerExternalId: ShortText,
  ...optionalFields(changeableFields),
  trialEndStatus: Schema.optionalKey(Schema.String),
  trialStartDate: Schema.optionalKey(Timestamp),
  /** Stored for the caller; Tollgate does not use it. */
  productKey: Schema.optionalKey(Schema.String)
}

/** What a subscription is, if its creator does not say so. */
export const subscriptionDefaults = {
  status: "active",
  type: "periodic",
  renewalStrategy: "monthly",
  region: "us-central1"
} as const

/** The fields that Tollgate sets. */
const generatedFields = { id: SubscriptionId, createdOn: Timestamp, updatedOn: Timestamp }

/**
 * The input that creates a subscription. It names the plans by `planIds` and by `planExternalIds`, which must match.
 */
export const SubscriptionCreate = Schema.Struct({
  planIds: uniqueList(ShortText),
  planExternalIds: uniqueList(ShortText),
  ...sharedFields,
  trialEndStatus: Schema.optionalKey(LongText),
  productKey: Schema.optionalKey(LongText),
  quotaResetAnchor: Schema.optionalKey(Timestamp),
  nextBillingCycle: Schema.optionalKey(Timestamp),
  /** Continues the periods and the usage of the customer's subscription that was canceled in its present period. */
  continueUsage: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "SubscriptionCreate" })
export type SubscriptionCreate = typeof SubscriptionCreate.Type

/** From 0 to 1. */
export const Share = Schema.Finite.pipe(Schema.check(Schema.isBetween({ minimum: 0, maximum: 1 })))

/** A subscription to create, complete: the plans are those of `planExternalIds`, which `planIds` must name too if it is given. */
export type NewSubscription = Omit<SubscriptionCreate, "planIds"> & Partial<Pick<SubscriptionCreate, "planIds">>

/**
 * The input that changes the plans, the status, the metadata, the trial or the overrides of a subscription. A missing
 * field stays unchanged; `overrides` replaces the previous ones.
 */
export const SubscriptionUpdate = Schema.Struct({
  planExternalIds: Schema.optionalKey(uniqueList(ShortText)),
  status: Schema.optionalKey(SubscriptionStatus),
  /** With new plans: the share of their limits that applies in the current period. */
  prorate: Schema.optionalKey(Share),
  ...clearableFields(changeableFields),
  metadata: Schema.optionalKey(Metadata)
}).annotate({ identifier: "SubscriptionUpdate" })
export type SubscriptionUpdate = typeof SubscriptionUpdate.Type

/** A subscription of a customer to one or more plans. */
export const Subscription = Schema.Struct({
  ...generatedFields,
  planIds: Schema.Array(PlanId),
  planExternalIds: Schema.Array(Schema.String),
  ...sharedFields,
  quotaResetAnchor: Timestamp,
  nextBillingCycle: Timestamp,
  /** What it changes to when its period ends. */
  pendingChange: Schema.optionalKey(PendingChange)
}).annotate({ identifier: "Subscription" })
export type Subscription = typeof Subscription.Type
/** A subscription, as plain JSON. */
export type SubscriptionJson = typeof Subscription.Encoded

/** A subscription in a list. */
export const ListedSubscription = Schema.Struct({
  ...Subscription.fields,
  /** If it is asked for: its quotas. */
  usage: Schema.optionalKey(Quotas)
}).annotate({ identifier: "ListedSubscription" })
/** A subscription in a list, as plain JSON. */
export type ListedSubscriptionJson = typeof ListedSubscription.Encoded

export const StoredSubscription = Schema.Struct({
  ...generatedFields,
  planIds: Schema.Array(PlanId),
  ...sharedFields,
  quotaResetAnchor: Timestamp,
  nextBillingCycle: Schema.optionalKey(Timestamp),
  /**
   * The proration: `share` is the fraction of the plans' limits that applies in the period that starts at
   * `periodStart`. It is `prorate` of the update that changed the plans.
   */
  prorated: Schema.optionalKey(Schema.Struct({ periodStart: Timestamp, share: Schema.Finite })),
  pendingChange: Schema.optionalKey(StoredPendingChange),
  /** The subscription whose usage it continues: both count in the counters and in the history of that one. */
  usageOf: Schema.optionalKey(Schema.Struct({ subscriptionId: SubscriptionId, createdOn: Timestamp })),
  /** When its status became `canceled`. Absent in any other status. */
  canceledOn: Schema.optionalKey(Timestamp)
})
export type StoredSubscription = typeof StoredSubscription.Type

/** The id under which usage is counted. */
export const getUsageId = ({ id, usageOf }: Pick<StoredSubscription, "id" | "usageOf">): SubscriptionId =>
  usageOf === undefined ? id : usageOf.subscriptionId
