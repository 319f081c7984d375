import { Schema } from "effect"
import type { EventType } from "../outbox/Event.ts"
import { recordEvent } from "../outbox/recordEvent.ts"
import { ApiKey, type StoredKey } from "../records/ApiKey.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { skipChecks } from "../schema/skipChecks.ts"
import { toPublicFields } from "./keyFields.ts"

const encode = Schema.encodeSync(ApiKey, skipChecks)

type KeyEventType = Extract<EventType, `key.${string}`>

/** The change that records an event of a key. */
export const recordKeyEvent = (type: KeyEventType, { accountName }: KeyBucket, key: StoredKey) =>
  recordEvent(type, { accountName, subject: { type: "key", id: key.id }, data: encode(toPublicFields(key)) })
