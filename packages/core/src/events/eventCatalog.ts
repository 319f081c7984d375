/**
 * What each type of event describes, and the schema of its data.
 */
import { Schema } from "effect"
import { Deployment } from "../deployments/model/Deployment.ts"
import { MeteringBucket } from "../metering/model/MeteringBucket.ts"
import { Plan } from "../metering/model/Plan.ts"
import { Subscription, SubscriptionStatus } from "../metering/model/Subscription.ts"
import { QuotaEvent } from "../metering/usage/QuotaThresholds.ts"
import type { EventType } from "../outbox/Event.ts"
import { ApiKey } from "../records/ApiKey.ts"
import { Consumer } from "../records/Consumer.ts"
import { Webhook } from "../webhooks/Webhook.ts"

interface EventDescription {
  readonly description: string
  readonly data: Schema.Codec<unknown, unknown>
}

const { key: _, ...keyFields } = ApiKey.fields
const { apiKeys: _apiKeys, managers: _managers, managerInvites: _managerInvites, ...consumerFields } = Consumer.fields

/** As reads show them without further parameters. The value of a key is never in an event. */
const KeyData = Schema.Struct(keyFields)
const ConsumerData = Schema.Struct(consumerFields)
const StatusChange = Schema.Struct({ ...Subscription.fields, previousStatus: SubscriptionStatus })

/** The description of each type of event, and the schema of its data. */
export const eventCatalog: Readonly<Record<EventType, EventDescription>> = {
  "consumer.created": { description: "A consumer was created.", data: ConsumerData },
  "consumer.updated": { description: "A consumer was changed.", data: ConsumerData },
  "consumer.deleted": { description: "A consumer was deleted, with all its keys.", data: ConsumerData },
  "consumer.key_rolled": {
    description: "The keys of a consumer were rolled: the previous ones expire. The new one has an event of its own.",
    data: ConsumerData
  },
  "key.created": { description: "A key was created or imported.", data: KeyData },
  "key.updated": { description: "A key was changed.", data: KeyData },
  "key.deleted": { description: "A key was deleted.", data: KeyData },
  "metering_bucket.created": { description: "A metering bucket was created.", data: MeteringBucket },
  "metering_bucket.deleted": {
    description: "A metering bucket was deleted, with its plans, subscriptions and usage.",
    data: MeteringBucket
  },
  "plan.created": { description: "A plan was created.", data: Plan },
  "plan.updated": { description: "A plan was changed.", data: Plan },
  "plan.deleted": { description: "A plan was deleted.", data: Plan },
  "subscription.created": { description: "A subscription was created.", data: Subscription },
  "subscription.updated": { description: "A subscription was changed.", data: Subscription },
  "subscription.deleted": { description: "A subscription was deleted.", data: Subscription },
  "subscription.status_changed": {
    description: "The status of a subscription changed, by an update or because its trial has ended.",
    data: StatusChange
  },
  "quota.threshold_reached": {
    description: "Usage reached a share of a quota: once for each period, meter and threshold.",
    data: QuotaEvent
  },
  "deployment.created": { description: "The first source of a branch was uploaded.", data: Deployment },
  "deployment.succeeded": { description: "A version was deployed and is served.", data: Deployment },
  "deployment.failed": { description: "A version could not be deployed.", data: Deployment },
  "deployment.deleted": { description: "A deployment was deleted, with all its versions.", data: Deployment },
  "webhook.created": { description: "A webhook was created.", data: Webhook },
  "webhook.updated": { description: "A webhook or its secret was changed.", data: Webhook },
  "webhook.deleted": { description: "A webhook was deleted.", data: Webhook },
  "webhook.disabled": { description: "A webhook was disabled, because its endpoint failed.", data: Webhook }
}
