/**
 * Sign-ups on the way. A consumer and its subscription are in different partitions: an intent in that of the consumer
 * precedes the subscription, and the commit that creates the consumer removes it. What a call that died has left is undone.
 */

import { Change, Collection, type Partition, type StoreConflict, Timestamp } from "@tollgate/store/internal"
import { Effect, Schema } from "effect"
import { findMeteringBucket, meteringBucketRecords } from "../metering/model/meteringBucketRecords.ts"
import { SubscriptionId } from "../metering/model/Subscription.ts"

/** How old an intent is when its call is taken for dead. */
export const signUpLifetime = { seconds: 60 }

/** How long a subscription cannot be created after its sign-up was undone: longer than any call is on the way. */
const markTtlMs = 31 * 24 * 3_600_000

const SignUpIntent = Schema.Struct({
  subscriptionId: SubscriptionId,
  meteringBucketId: Schema.String,
  subscriptionExternalId: Schema.String,
  startedOn: Timestamp,
  /** From then on, the consumer cannot be created. */
  isUndone: Schema.optionalKey(Schema.Boolean)
})
export type SignUpIntent = typeof SignUpIntent.Type

const byExternalId = (subscriptionExternalId: string): string => `external:${subscriptionExternalId}`

export const signUpIntents = Collection.make({
  name: "sign-up",
  format: 1,
  schema: SignUpIntent,
  key: ({ subscriptionId }) => subscriptionId,
  indexTerms: ({ subscriptionExternalId }) => [byExternalId(subscriptionExternalId)]
})

/** Begins the names of counters. Stored, so it cannot change. */
const undoneMark = "sign-up-undone:"

const getUndoneMark = (subscriptionId: SubscriptionId): string => undoneMark + subscriptionId

/** Whether a commit failed because its sign-up was undone. */
export const isUndoneConflict = ({ subject }: StoreConflict): boolean =>
  subject.startsWith(undoneMark) || subject.startsWith(signUpIntents.recordKey(""))

/** The precondition of creating the subscription of a sign-up. */
export const assertNotUndone = (subscriptionId: SubscriptionId): Change =>
  Change.CheckCounter({ counter: getUndoneMark(subscriptionId), expect: 0 })

/** The changes after which the subscription of a sign-up cannot be created any more: its call may still be on the way. */
export const markUndone = Effect.fnUntraced(function* (subscriptionId: SubscriptionId, meteringBucketId: string) {
  return [
    meteringBucketRecords.assertUnchanged(yield* findMeteringBucket(meteringBucketId)),
    Change.Raise({ counter: getUndoneMark(subscriptionId), to: 1, ttl: markTtlMs })
  ]
})

/** The first intents of a key bucket, oldest first. */
export const readFirstIntents = (partition: Partition.Partition) =>
  Effect.map(signUpIntents.page(partition, { offset: 0, limit: 100 }), ({ entries }) => entries)

/** Whether a sign-up on the way has a `subscriptionExternalId`. */
export const isOfSignUp = (partition: Partition.Partition, meteringBucketId: string, subscriptionExternalId: string) =>
  Effect.map(
    signUpIntents.page(partition, { where: [byExternalId(subscriptionExternalId)], offset: 0, limit: 10 }),
    ({ entries }) => entries.some(({ value }) => value.meteringBucketId === meteringBucketId)
  )
