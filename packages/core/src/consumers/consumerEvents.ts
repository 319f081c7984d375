import { formatTimestamp, skipChecks } from "@tollgate/store/internal"
import { Schema } from "effect"
import type { EventType } from "../outbox/Event.ts"
import { recordEvent } from "../outbox/recordEvent.ts"
import { Consumer, type ConsumerJson } from "../records/Consumer.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"

const encodeBySchema = Schema.encodeSync(Consumer, skipChecks)

/** Most consumers have neither managers nor keys with them: everything but their times is JSON already. */
const encode = (consumer: Consumer): ConsumerJson => {
  const { createdOn, updatedOn, apiKeys, managers, managerInvites, ...rest } = consumer
  if (apiKeys !== undefined || managers !== undefined || managerInvites !== undefined) return encodeBySchema(consumer)
  const { id, name, ...optional } = rest
  return { id, name, createdOn: formatTimestamp(createdOn), updatedOn: formatTimestamp(updatedOn), ...optional }
}

type ConsumerEventType = Extract<EventType, `consumer.${string}`>

/** The change that records an event of a consumer. */
export const recordConsumerEvent = (
  type: ConsumerEventType,
  { accountName, bucketName }: KeyBucket,
  consumer: Consumer
) =>
  recordEvent(type, {
    accountName,
    subject: { type: "consumer", id: consumer.id, name: consumer.name },
    data: { ...encode(consumer), consumerName: consumer.name, keyBucketName: bucketName }
  })
