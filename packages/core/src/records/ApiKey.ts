/**
 * Schemas of an API key: the public form, the input of create and update, and the stored record.
 */
import { Schema, Struct } from "effect"
import { Id } from "../schema/Id.ts"
import { clearableFields, optionalFields } from "../schema/patch.ts"
import { LongText } from "../schema/Text.ts"
import { Timestamp } from "../schema/Timestamp.ts"
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
const inputFields = { expiresOn: Timestamp, description: LongText, disabled: Schema.Boolean, scopes: Scopes }

/** The same fields as they are stored and returned: `disabled` only if it is `true`, `scopes` only if there are any. */
const savedFields = {
  ...optionalFields(inputFields),
  description: Schema.optionalKey(Schema.String),
  scopes: Schema.optionalKey(Schema.Array(Schema.String))
}

/** The fields that Tollgate sets. */
const generatedFields = { id: KeyId, createdOn: Timestamp, updatedOn: Timestamp }

/** The fields of a stored key that callers see. */
export const publicFieldNames = Struct.keys({ ...generatedFields, ...savedFields })

/** An API key. `key` is its value, present only if it was requested. */
export const ApiKey = Schema.Struct({
  ...generatedFields,
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

/**
 * One commit writes all keys of a consumer when it is deleted or rolled, so a consumer has a maximum number of keys.
 */
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

/** A key that another system issued, by the hash of its value: 16 to 256 visible ASCII characters. */
export const ApiKeyImport = Schema.Struct({
  ...createFields,
  /** The SHA-256 of the key value, in lower-case hexadecimal digits. */
  hash: Schema.String.pipe(
    Schema.check(Schema.isPattern(/^[0-9a-f]{64}$/u, { expected: "64 lower-case hexadecimal digits" }))
  ),
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
  suffix: Schema.String,
  hashes: Schema.Array(Schema.String),
  sealed: Schema.optionalKey(Schema.String),
  encryptedHash: Schema.optionalKey(Schema.String)
})
export type StoredKey = typeof StoredKey.Type
