/**
 * The changes that record events of metering buckets, plans and subscriptions.
 */

import { type Change, omitUndefined, skipChecks, Timestamp } from "@tollgate/store/internal"
import { DateTime, Effect, Schema } from "effect"
import { asSystem } from "../../outbox/CurrentActor.ts"
import type { EventType } from "../../outbox/Event.ts"
import { recordEvent } from "../../outbox/recordEvent.ts"
import type { Adjustment } from "./Customer.ts"
import type { Entitlement } from "./Entitlement.ts"
import { Grant } from "./Grant.ts"
import { MeteringBucket } from "./MeteringBucket.ts"
import { Plan } from "./Plan.ts"
import { type StoredSubscription, Subscription, type SubscriptionStatus } from "./Subscription.ts"
import { getDueTimes, subscriptionAt } from "./subscriptionAt.ts"
import { toSubscription } from "./toSubscription.ts"

type TypesOf<Group extends string> = Extract<EventType, `${Group}.${string}`>

const encodeBucket = Schema.encodeSync(MeteringBucket, skipChecks)
const encodePlan = Schema.encodeSync(Plan, skipChecks)
const encodeSubscription = Schema.encodeSync(Subscription, skipChecks)

export const recordBucketEvent = (type: TypesOf<"metering_bucket">, bucket: MeteringBucket) =>
  recordEvent(type, {
    accountName: bucket.accountName,
    subject: { type: "metering_bucket", id: bucket.id, ...omitUndefined({ name: bucket.name }) },
    data: encodeBucket(bucket)
  })

export const recordPlanEvent = (type: TypesOf<"plan">, { accountName }: MeteringBucket, plan: Plan) =>
  recordEvent(type, { accountName, subject: { type: "plan", id: plan.id }, data: encodePlan(plan) })

const toSubscriptionFields = ({ accountName }: MeteringBucket, subscription: Subscription) => ({
  accountName,
  subject: { type: "subscription" as const, id: subscription.id, name: subscription.customerKey },
  data: encodeSubscription(subscription)
})

export const recordSubscriptionEvent = (
  type: "subscription.created" | "subscription.updated" | "subscription.deleted",
  bucket: MeteringBucket,
  subscription: Subscription
) => recordEvent(type, toSubscriptionFields(bucket, subscription))

const encodeGrant = Schema.encodeSync(Grant, skipChecks)

/** The subject is the grant; its name is the customer. */
export const recordGrantEvent = (type: TypesOf<"grant">, { accountName }: MeteringBucket, grant: Grant) =>
  recordEvent(type, {
    accountName,
    subject: { type: "grant", id: grant.id, name: grant.customerKey },
    data: encodeGrant(grant)
  })

export const recordStatusChange = (
  bucket: MeteringBucket,
  subscription: Subscription,
  previousStatus: SubscriptionStatus
) => {
  const { data, ...fields } = toSubscriptionFields(bucket, subscription)
  return recordEvent("subscription.status_changed", { ...fields, data: { ...data, previousStatus } })
}

/** Records what a subscription has changed by itself since it was written: the end of its trial, and its pending change. */
export const recordDueChanges = (
  bucket: MeteringBucket,
  stored: StoredSubscription,
  externalIds: ReadonlyMap<string, string>,
  now: DateTime.Utc
) =>
  asSystem(
    Effect.gen(function* () {
      const changes: Array<Change> = []
      let previous = stored
      for (const time of getDueTimes(stored)) {
        if (DateTime.isGreaterThan(time, now)) break
        const value = subscriptionAt(stored, time)
        const isChanged = value.pendingChange !== previous.pendingChange
        const updatedOn = isChanged ? value.updatedOn : now
        const subscription = toSubscription({ ...value, updatedOn }, externalIds, time)
        if (isChanged) changes.push(yield* recordSubscriptionEvent("subscription.updated", bucket, subscription))
        if (value.status !== previous.status) {
          changes.push(yield* recordStatusChange(bucket, subscription, previous.status))
        }
        previous = value
      }
      return changes
    })
  )

/** The data of the event `usage.adjusted`. */
export const AdjustmentEvent = Schema.Struct({
  meteringBucketId: MeteringBucket.fields.id,
  subscriptionId: Subscription.fields.id,
  customerKey: Schema.String,
  meter: Schema.String,
  /** Negative if usage was taken back. */
  amount: Schema.Int,
  occurredOn: Timestamp,
  reason: Schema.String,
  /** What is used in the period now, without open reservations. */
  used: Schema.Finite
})

const encodeAdjustment = Schema.encodeSync(AdjustmentEvent, skipChecks)

export const recordAdjustment = (
  { bucketEntry: { value: bucket }, subscription: { value: subscription } }: Entitlement,
  adjustment: Adjustment & { readonly occurredOn: DateTime.Utc },
  used: number
) =>
  recordEvent("usage.adjusted", {
    accountName: bucket.accountName,
    subject: { type: "subscription", id: subscription.id, name: subscription.customerKey },
    data: encodeAdjustment({
      meteringBucketId: bucket.id,
      subscriptionId: subscription.id,
      customerKey: subscription.customerKey,
      ...adjustment,
      used
    })
  })
