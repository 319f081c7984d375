/**
 * A consumer: a named group of API keys in a key bucket.
 */
import { Schema } from "effect"
import { Id } from "../schema/Id.ts"
import { Metadata } from "../schema/Metadata.ts"
import { clearableFields, optionalFields } from "../schema/patch.ts"
import { Tags } from "../schema/Tags.ts"
import { LongText } from "../schema/Text.ts"
import { Timestamp } from "../schema/Timestamp.ts"
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
const inputFields = { description: LongText, tags: Tags, metadata: Metadata }

const fields = {
  id: ConsumerId,
  name: ConsumerName,
  createdOn: Timestamp,
  updatedOn: Timestamp,
  ...optionalFields(inputFields),
  description: Schema.optionalKey(Schema.String)
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

/** The input that creates a consumer, with its keys and managers if you want. `name` is required. */
export const ConsumerCreate = Schema.Struct({
  name: ConsumerName,
  managers: Schema.optionalKey(ManagersCreate),
  apiKeys: Schema.optionalKey(Schema.Array(ApiKeyCreate).pipe(Schema.check(Schema.isMaxLength(maxKeysPerRequest)))),
  ...optionalFields(inputFields)
}).annotate({ identifier: "ConsumerCreate" })
export type ConsumerCreate = typeof ConsumerCreate.Type

/**
 * `tags` and `metadata` replace the previous object; `null` clears the other fields. `name` must equal the current name.
 */
export const ConsumerUpdate = Schema.Struct({
  name: Schema.optionalKey(Schema.String),
  ...clearableFields(inputFields),
  tags: Schema.optionalKey(Tags),
  metadata: Schema.optionalKey(Metadata)
}).annotate({ identifier: "ConsumerUpdate" })
export type ConsumerUpdate = typeof ConsumerUpdate.Type

export const StoredConsumer = Schema.Struct({
  ...fields,
  managers: Schema.Array(Manager),
  managerInvites: Schema.Array(ManagerInvite)
})
export type StoredConsumer = typeof StoredConsumer.Type
