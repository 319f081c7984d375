/**
 * The changes that record events of metering buckets, plans and subscriptions.
 */
import { Schema } from "effect"
import type { EventType } from "../../outbox/Event.ts"
import { recordEvent } from "../../outbox/recordEvent.ts"
import { omitUndefined } from "../../runtime/omitUndefined.ts"
import { skipChecks } from "../../schema/skipChecks.ts"
import { MeteringBucket } from "./MeteringBucket.ts"
import { Plan } from "./Plan.ts"
import { Subscription, type SubscriptionStatus } from "./Subscription.ts"

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
  subject: { type: "subscription" as const, id: subscription.id },
  data: encodeSubscription(subscription)
})

export const recordSubscriptionEvent = (
  type: "subscription.created" | "subscription.updated" | "subscription.deleted",
  bucket: MeteringBucket,
  subscription: Subscription
) => recordEvent(type, toSubscriptionFields(bucket, subscription))

export const recordStatusChange = (
  bucket: MeteringBucket,
  subscription: Subscription,
  previousStatus: SubscriptionStatus
) => {
  const { data, ...fields } = toSubscriptionFields(bucket, subscription)
  return recordEvent("subscription.status_changed", { ...fields, data: { ...data, previousStatus } })
}
