import { skipChecks } from "@tollgate/store/internal"
import { Schema } from "effect"
import type { EventData, EventType } from "../outbox/Event.ts"
import { recordEvent } from "../outbox/recordEvent.ts"
import { ApiKey, type StoredKey } from "../records/ApiKey.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { toPublicFields } from "./keyFields.ts"

const encode = Schema.encodeSync(ApiKey, skipChecks)

type KeyEventType = Exclude<Extract<EventType, `key.${string}`>, "key.revealed">

/** The change that records an event of a key. */
export const recordKeyEvent = (type: KeyEventType, bucket: KeyBucket, key: StoredKey, more: EventData = {}) =>
  recordEvent(type, {
    accountName: bucket.accountName,
    subject: { type: "key", id: key.id },
    data: { ...encode(toPublicFields(bucket, key)), ...more }
  })
