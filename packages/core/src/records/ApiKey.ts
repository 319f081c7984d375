/**
 * Schemas of an API key: the public form, the input of create and update, and the stored record.
 */

import { clearableFields, Id, IpAllow, LongText, optionalFields, Timestamp } from "@tollgate/store/internal"
import { Schema, Struct } from "effect"
import { Scopes } from "./Scope.ts"

/** The id of an API key. It begins with `key_`. */
export const KeyId = Id("key").pipe(Schema.brand("KeyId"))
export type KeyId = typeof KeyId.Type

/**
 * How much of a key's value the response contains. The HTTP API calls it `key-format`, and the options `keyFormat`; it
 * is unrelated to `crypto/KeyFormat.ts`.
 */
export const KeyVisibility = Schema.Literals(["none", "visible", "masked"])
export type KeyVisibility = typeof KeyVisibility.Type

/** The fields that callers set, with the limits of requests. Everything else that has them is derived from here. */
const inputFields = {
  expiresOn: Timestamp,
  description: LongText,
  disabled: Schema.Boolean,
  scopes: Scopes,
  ipAllow: IpAllow
}

/** The same fields as they are stored and returned: `disabled` only if it is `true`, lists only if they are not empty. */
const savedFields = {
  ...optionalFields(inputFields),
  description: Schema.optionalKey(Schema.String),
  scopes: Schema.optionalKey(Schema.Array(Schema.String)),
  ipAllow: Schema.optionalKey(Schema.Array(Schema.String))
}

/** The fields that Tollgate sets. */
const generatedFields = { id: KeyId, createdOn: Timestamp, updatedOn: Timestamp }

/** The fields of a stored key that callers see. */
export const publicFieldNames = Struct.keys({ ...generatedFields, ...savedFields })

/** An API key. `key` is its value, present only if it was requested. */
export const ApiKey = Schema.Struct({
  ...generatedFields,
  /** Whose key it is. */
  consumerName: Schema.String,
  keyBucketName: Schema.String,
  ...savedFields,
  /** When the key last passed a check, to the minute. Tollgate writes it up to 15 seconds later. */
  lastUsedOn: Schema.optionalKey(Timestamp),
  key: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "ApiKey" })
export type ApiKey = typeof ApiKey.Type
/** An API key, as plain JSON. */
export type ApiKeyJson = typeof ApiKey.Encoded

/** A key value supplied by the caller: visible ASCII without whitespace. */
export const SuppliedKey = Schema.String.pipe(
  Schema.check(Schema.isPattern(/^[\x21-\x7e]{16,256}$/u, { expected: "16 to 256 visible ASCII characters" }))
)

/** Maximum keys of a consumer. */
export const maxKeysPerConsumer = 10_000

const createFields = optionalFields(inputFields)

/** The input that creates a key. All fields are optional; without `key`, Tollgate generates the value. */
export const ApiKeyCreate = Schema.Struct({
  ...createFields,
  key: Schema.optionalKey(SuppliedKey)
}).annotate({ identifier: "ApiKeyCreate" })
export type ApiKeyCreate = typeof ApiKeyCreate.Type

/** A missing field stays unchanged; `null` clears it. */
export const ApiKeyUpdate = Schema.Struct({
  ...clearableFields(inputFields),
  key: Schema.optionalKey(SuppliedKey)
}).annotate({ identifier: "ApiKeyUpdate" })
export type ApiKeyUpdate = typeof ApiKeyUpdate.Type

export const maxKeysPerRequest = 1000

/** 32 bytes as hexadecimal digits, base64 or base64url. The last digit of the latter two stands for 4 bits. */
const sha256Digest = /^(?:[0-9a-f]{64}|[A-Za-z0-9+/_-]{42}[AEIMQUYcgkosw048]=?)$/u
const digestForms = "a SHA-256 hash as 64 lower-case hexadecimal digits, base64 or base64url"

/** A key that another system issued, by the hash of its value: 16 to 256 visible ASCII characters. */
export const ApiKeyImport = Schema.Struct({
  ...createFields,
  /** The SHA-256 of the key value. */
  hash: Schema.String.pipe(Schema.check(Schema.isPattern(sha256Digest, { expected: digestForms }))),
  algorithm: Schema.Literal("sha256"),
  /** The last characters of the key value, by which its owner recognizes it. */
  suffix: Schema.optionalKey(
    Schema.String.pipe(
      Schema.check(Schema.isPattern(/^[\x21-\x7e]{1,8}$/u, { expected: "1 to 8 visible ASCII characters" }))
    )
  )
}).annotate({ identifier: "ApiKeyImport" })
export type ApiKeyImport = typeof ApiKeyImport.Type

/**
 * The stored record. `sealed` is the stored name of the encrypted value; it is absent with
 * `keyStorage: "hash-only"` and for imported keys, which have `encryptedHash` instead. `hashes` are the record's unique
 * keys: see `keys/keyHashes.ts`.
 */
export const StoredKey = Schema.Struct({
  ...generatedFields,
  ...savedFields,
  consumer: Schema.String,
  /** The id of the consumer. One that is created again under the same name has other keys. */
  consumerId: Schema.String,
  /** How many rolls of many keys the consumer had when the key was created or last changed, if any. */
  roll: Schema.optionalKey(Schema.Int),
  /** When the key got its expiry. */
  expirySetOn: Schema.optionalKey(Timestamp),
  /** The version for callers, if the last change was one that they cannot see. */
  revision: Schema.optionalKey(Schema.Int),
  suffix: Schema.String,
  /** Whether the value has less than 24 characters: its suffix finds no key. Not known of imported keys. */
  hasShortValue: Schema.optionalKey(Schema.Boolean),
  hashes: Schema.Array(Schema.String),
  sealed: Schema.optionalKey(Schema.String),
  encryptedHash: Schema.optionalKey(Schema.String)
})
export type StoredKey = typeof StoredKey.Type
