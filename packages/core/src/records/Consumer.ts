/**
 * A consumer: a named group of API keys in a key bucket.
 */

import {
  clearableFields,
  Id,
  LongText,
  Metadata,
  optionalFields,
  ShortText,
  Tags,
  Timestamp
} from "@tollgate/store/internal"
import { Schema } from "effect"
import { ApiKey, ApiKeyCreate, maxKeysPerRequest } from "./ApiKey.ts"
import { Manager, ManagerInvite, ManagersCreate } from "./Manager.ts"

/** The id of a consumer. It begins with `csmr_`. */
export const ConsumerId = Id("csmr").pipe(Schema.brand("ConsumerId"))
export type ConsumerId = typeof ConsumerId.Type

/** The name of a consumer, unique in its key bucket: 1 to 128 of `a` to `z`, `0` to `9` and `-`. */
export const ConsumerName = Schema.String.pipe(
  Schema.check(
    Schema.isPattern(/^[a-z0-9-]{1,128}$/u, { expected: "1 to 128 lower-case letters, digits and hyphens (a-z 0-9 -)" })
  ),
  Schema.brand("ConsumerName")
)
export type ConsumerName = typeof ConsumerName.Type

/** The optional fields that callers set, with the limits of requests. Everything else that has them is derived from here. */
const inputFields = {
  description: LongText,
  tags: Tags,
  metadata: Metadata,
  disabled: Schema.Boolean,
  /** Whose subscriptions count the requests of the consumer. Default: its name. */
  customerKey: ShortText
}

/** `disabled` is stored and returned only if it is `true`. */
const fields = {
  id: ConsumerId,
  name: ConsumerName,
  createdOn: Timestamp,
  updatedOn: Timestamp,
  ...optionalFields(inputFields),
  description: Schema.optionalKey(Schema.String),
  customerKey: Schema.optionalKey(Schema.String)
}

/** A consumer: a named group of API keys. Its keys and managers are present only if they were requested. */
export const Consumer = Schema.Struct({
  ...fields,
  apiKeys: Schema.optionalKey(Schema.Array(ApiKey)),
  managers: Schema.optionalKey(Schema.Array(Manager)),
  managerInvites: Schema.optionalKey(Schema.Array(ManagerInvite))
}).annotate({ identifier: "Consumer" })
export type Consumer = typeof Consumer.Type
/** A consumer, as plain JSON. */
export type ConsumerJson = typeof Consumer.Encoded

/** What creates a consumer, without its subscription. */
export const consumerCreateFields = {
  name: ConsumerName,
  managers: Schema.optionalKey(ManagersCreate),
  apiKeys: Schema.optionalKey(Schema.Array(ApiKeyCreate).pipe(Schema.check(Schema.isMaxLength(maxKeysPerRequest)))),
  ...optionalFields(inputFields)
}

/**
 * `tags`, `metadata` and `managers` replace the previous ones; `null` clears the other fields. `name` must equal the current
 * name.
 */
export const ConsumerUpdate = Schema.Struct({
  name: Schema.optionalKey(Schema.String),
  managers: Schema.optionalKey(ManagersCreate),
  ...clearableFields(inputFields),
  tags: Schema.optionalKey(Tags),
  metadata: Schema.optionalKey(Metadata)
}).annotate({ identifier: "ConsumerUpdate" })
export type ConsumerUpdate = typeof ConsumerUpdate.Type

/** The rolls of more keys than one commit changes. */
const Rolls = Schema.Struct({
  count: Schema.Int,
  /** Those that are not yet written to all keys, the earliest first. */
  pending: Schema.Array(
    Schema.Struct({
      /** The roll applies to keys with a lower number that have no expiry. */
      upTo: Schema.Int,
      expiresOn: Timestamp,
      rolledOn: Timestamp
    })
  )
})
export type Rolls = typeof Rolls.Type

export const StoredConsumer = Schema.Struct({
  ...fields,
  rolls: Schema.optionalKey(Rolls),
  /** The version for callers, if the last change was one that they cannot see. */
  revision: Schema.optionalKey(Schema.Int),
  managers: Schema.Array(Manager),
  managerInvites: Schema.Array(ManagerInvite)
})
export type StoredConsumer = typeof StoredConsumer.Type
