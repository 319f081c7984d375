/**
 * Schemas of an API key: the public form, the input of create and update, and the stored record.
 */
import { Schema } from "effect"
import { Id } from "../schema/Id.ts"
import { LongText } from "../schema/Text.ts"
import { Timestamp } from "../schema/Timestamp.ts"

export const KeyId = Id("key").pipe(Schema.brand("KeyId"))
export type KeyId = typeof KeyId.Type

/**
 * How much of a key's value the response contains. The HTTP API calls it `key-format`, and the options `keyFormat`; it
 * is unrelated to `crypto/KeyFormat.ts`.
 */
export const KeyVisibility = Schema.Literals(["none", "visible", "masked"])
export type KeyVisibility = typeof KeyVisibility.Type

export const ApiKey = Schema.Struct({
  id: KeyId,
  createdOn: Timestamp,
  updatedOn: Timestamp,
  expiresOn: Schema.optionalKey(Timestamp),
  description: Schema.optionalKey(Schema.String),
  key: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "ApiKey" })
export type ApiKey = typeof ApiKey.Type
/** As plain JSON, as the promise API returns it. */
export type ApiKeyJson = typeof ApiKey.Encoded

/** A key value supplied by the caller: visible ASCII without whitespace. */
export const SuppliedKey = Schema.String.pipe(
  Schema.check(Schema.isPattern(/^[\x21-\x7e]{16,256}$/u, { expected: "16 to 256 visible ASCII characters" }))
)

/**
 * One commit writes all keys of a consumer when it is deleted or rolled, so a consumer has a maximum number of keys.
 */
export const maxKeysPerConsumer = 10_000

export const ApiKeyCreate = Schema.Struct({
  expiresOn: Schema.optionalKey(Timestamp),
  description: Schema.optionalKey(LongText),
  key: Schema.optionalKey(SuppliedKey)
}).annotate({ identifier: "ApiKeyCreate" })
export type ApiKeyCreate = typeof ApiKeyCreate.Type

/** A missing field stays unchanged; `null` clears it. */
export const ApiKeyUpdate = Schema.Struct({
  expiresOn: Schema.optionalKey(Schema.NullOr(Timestamp)),
  description: Schema.optionalKey(Schema.NullOr(LongText)),
  key: Schema.optionalKey(SuppliedKey)
}).annotate({ identifier: "ApiKeyUpdate" })
export type ApiKeyUpdate = typeof ApiKeyUpdate.Type

export const maxKeysPerRequest = 1000

/**
 * The stored record. `sealed` is the stored name of the encrypted value; it is absent with
 * `keyStorage: "hash-only"`. `hashes` are those of the value under each secret; they are the record's unique keys.
 */
export const StoredKey = Schema.Struct({
  id: KeyId,
  consumer: Schema.String,
  createdOn: Timestamp,
  updatedOn: Timestamp,
  expiresOn: Schema.optionalKey(Timestamp),
  description: Schema.optionalKey(Schema.String),
  suffix: Schema.String,
  hashes: Schema.Array(Schema.String),
  sealed: Schema.optionalKey(Schema.String)
})
export type StoredKey = typeof StoredKey.Type
