/**
 * What creates a consumer: its fields, its keys, and the subscription of a sign-up.
 */

import { Schema } from "effect"
import { Subscription, SubscriptionCreate } from "../metering/model/Subscription.ts"
import { Consumer, consumerCreateFields } from "../records/Consumer.ts"

const { planIds: _, customerKey: __, ...fields } = SubscriptionCreate.fields

/** The subscription of a new consumer. Its customer is the `customerKey` of the consumer. */
export const SignUpSubscription = Schema.Struct({
  ...fields,
  /** The id or the name of a metering bucket of the same account. */
  meteringBucket: Schema.String,
  status: Schema.optionalKey(fields.status),
  type: Schema.optionalKey(fields.type),
  renewalStrategy: Schema.optionalKey(fields.renewalStrategy),
  region: Schema.optionalKey(fields.region),
  /** Default: the id of the subscription. */
  subscriptionExternalId: Schema.optionalKey(fields.subscriptionExternalId),
  /** Default: the `customerKey`. */
  customerExternalId: Schema.optionalKey(fields.customerExternalId)
}).annotate({ identifier: "SignUpSubscription" })
export type SignUpSubscription = typeof SignUpSubscription.Type

/** The input that creates a consumer, with its keys, managers and subscription if you want. `name` is required. */
export const ConsumerCreate = Schema.Struct({
  ...consumerCreateFields,
  subscription: Schema.optionalKey(SignUpSubscription)
}).annotate({ identifier: "ConsumerCreate" })
export type ConsumerCreate = typeof ConsumerCreate.Type

const { id, customerKey, planExternalIds, status } = Subscription.fields

/** A new consumer, and its subscription if the request asked for one. */
export const CreatedConsumer = Schema.Struct({
  ...Consumer.fields,
  subscription: Schema.optionalKey(
    Schema.Struct({ id, meteringBucketId: Schema.String, customerKey, planExternalIds, status })
  )
}).annotate({ identifier: "CreatedConsumer" })
export type CreatedConsumer = typeof CreatedConsumer.Type
/** A new consumer, as plain JSON. */
export type CreatedConsumerJson = typeof CreatedConsumer.Encoded
