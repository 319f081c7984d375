/**
 * What each type of event describes, and the schema of its data.
 */
import { Timestamp } from "@tollgate/store/internal"
import { Schema } from "effect"
import { TriggeredAlert } from "../metering/alerts/alertEvents.ts"
import { Alert } from "../metering/model/Alert.ts"
import { ClosedPeriod, CorrectedPeriod } from "../metering/model/ClosedPeriod.ts"
import { Grant } from "../metering/model/Grant.ts"
import { MeteringBucket } from "../metering/model/MeteringBucket.ts"
import { AdjustmentEvent } from "../metering/model/meteringEvents.ts"
import { Plan } from "../metering/model/Plan.ts"
import { Subscription, SubscriptionStatus } from "../metering/model/Subscription.ts"
import { QuotaEvent } from "../metering/usage/QuotaThresholds.ts"
import type { EventCatalog } from "../outbox/Event.ts"
import { ApiKey, KeyId } from "../records/ApiKey.ts"
import { Consumer, ConsumerId } from "../records/Consumer.ts"

const { key: _, ...keyFields } = ApiKey.fields
const { apiKeys: _apiKeys, managers: _managers, managerInvites: _managerInvites, ...consumerFields } = Consumer.fields

/** As reads show them without further parameters. The value of a key is never in an event. */
const KeyData = Schema.Struct(keyFields)
const ExpiringKey = Schema.Struct({ ...keyFields, expiresOn: Timestamp, daysLeft: Schema.Literals([14, 7, 1]) })
const { consumerName, keyBucketName } = ApiKey.fields
const RevealedKeys = Schema.Struct({
  consumerId: ConsumerId,
  consumerName,
  keyBucketName,
  keyIds: Schema.Array(KeyId),
  count: Schema.Int
})
const ConsumerData = Schema.Struct({ ...consumerFields, consumerName, keyBucketName })
const StatusChange = Schema.Struct({ ...Subscription.fields, previousStatus: SubscriptionStatus })

/** The description of each type of event, and the schema of its data. */
export const coreEvents = {
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
  "key.expiring": {
    description:
      "A key expires in 14, 7 or 1 day: once each. Not if the key is disabled, or got its expiry later than that.",
    data: ExpiringKey
  },
  "key.revealed": {
    description:
      "The values of keys of a consumer were read: one event of each request and consumer. `keyIds` are the first 100, `count` " +
      "is the number of all. The subject is the consumer. Not if a key was created or rolled in the same request.",
    data: RevealedKeys
  },
  "metering_bucket.created": { description: "A metering bucket was created.", data: MeteringBucket },
  "metering_bucket.deleted": {
    description: "A metering bucket was deleted, with its plans, subscriptions and usage.",
    data: MeteringBucket
  },
  "plan.created": { description: "A plan was created.", data: Plan },
  "plan.updated": { description: "A plan was changed.", data: Plan },
  "plan.deleted": { description: "A plan was deleted.", data: Plan },
  "subscription.created": { description: "A subscription was created.", data: Subscription },
  "subscription.updated": {
    description: "A subscription was changed, or a pending change has acted.",
    data: Subscription
  },
  "subscription.deleted": { description: "A subscription was deleted.", data: Subscription },
  "subscription.status_changed": {
    description: "The status of a subscription changed, by an update or because its trial has ended.",
    data: StatusChange
  },
  "usage.adjusted": {
    description: "What a customer has used was corrected by hand. The subject is the subscription.",
    data: AdjustmentEvent
  },
  "quota.threshold_reached": {
    description: "Usage reached a share of a quota: once for each period, meter and threshold.",
    data: QuotaEvent
  },
  "period.closed": {
    description:
      "A month or year of a subscription is over, or the subscription was canceled or deleted: what each meter used, by source. " +
      "Once for each period. The subject is the subscription.",
    data: ClosedPeriod
  },
  "period.corrected": {
    description:
      "What was used in a closed period has changed: the numbers now, and `previous` of the meters that changed.",
    data: CorrectedPeriod
  },
  "grant.created": {
    description: "A customer got a grant. The subject is the grant, its name the customer.",
    data: Grant
  },
  "grant.voided": { description: "A grant was voided: what it had left is gone.", data: Grant },
  "grant.depleted": {
    description: "All of a grant was used: once for each grant, also if a reservation gave some of it back since.",
    data: Grant
  },
  "grant.expired": { description: "A grant expired before all of it was used.", data: Grant },
  "alert.created": {
    description: "A customer got an alert. The subject is the alert, its name the customer.",
    data: Alert
  },
  "alert.deleted": { description: "An alert was removed.", data: Alert },
  "alert.triggered": {
    description:
      "A customer has used what an alert is set to, or has as little left: once in a period of the meter; for `remaining` each " +
      "time that it falls from above. The data has the alert, and the use that triggered it.",
    data: TriggeredAlert
  }
} satisfies EventCatalog
