import { Schema } from "effect"
import type { EventType } from "../outbox/Event.ts"
import { recordEvent } from "../outbox/recordEvent.ts"
import { Consumer } from "../records/Consumer.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { skipChecks } from "../schema/skipChecks.ts"

const encode = Schema.encodeSync(Consumer, skipChecks)

type ConsumerEventType = Extract<EventType, `consumer.${string}`>

/** The change that records an event of a consumer. */
export const recordConsumerEvent = (type: ConsumerEventType, { accountName }: KeyBucket, consumer: Consumer) =>
  recordEvent(type, {
    accountName,
    subject: { type: "consumer", id: consumer.id, name: consumer.name },
    data: encode(consumer)
  })
