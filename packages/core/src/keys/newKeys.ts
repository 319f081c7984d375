/**
 * Makes new API keys: generated, supplied by the caller, or imported by the hash of their value.
 */
import { type DateTime, Effect } from "effect"
import * as Id from "../crypto/Id.ts"
import type { SecretBox } from "../crypto/SecretBox.ts"
import { type ApiKeyCreate, type ApiKeyImport, KeyId, type StoredKey } from "../records/ApiKey.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { invalidBody } from "../schema/InvalidInput.ts"
import { patchFields } from "./keyFields.ts"
import { hashAndEncrypt, hashAndEncryptImported } from "./keyValues.ts"

export interface NewKey {
  readonly stored: StoredKey
  /** The plaintext value; of an imported key unknown. The store holds only its hashes and, if configured, its ciphertext. */
  readonly value: string | undefined
}

const generateFields = Effect.fnUntraced(function* (consumerName: string, now: DateTime.Utc) {
  const id = KeyId.make(yield* Id.generate("key"))
  return { id, consumer: consumerName, createdOn: now, updatedOn: now }
})

/** Rejects a supplied value that has the configured key prefix but not a valid checksum. */
export const validateSuppliedKey = (secretBox: SecretBox["Service"], value: string, pointer: string) =>
  secretBox.isWellFormed(value)
    ? Effect.void
    : Effect.fail(invalidBody(pointer, "starts with the configured key prefix but has a wrong checksum"))

/** Creates a key for a consumer. `pointer` is the JSON pointer of the key in the request, for error messages. */
export const makeKey = Effect.fnUntraced(function* (
  secretBox: SecretBox["Service"],
  bucket: KeyBucket,
  consumerName: string,
  { key, ...fields }: ApiKeyCreate,
  now: DateTime.Utc,
  pointer: string
) {
  if (key !== undefined) yield* validateSuppliedKey(secretBox, key, `${pointer}/key`)
  const value = key ?? (yield* secretBox.generate)
  const base = yield* generateFields(consumerName, now)
  const stored: StoredKey = { ...base, ...(yield* hashAndEncrypt(secretBox, bucket, base.id, value)) }
  return { stored: patchFields(stored, fields), value } satisfies NewKey
})

/** Creates a key for a consumer from the hash of its value. */
export const makeImportedKey = Effect.fnUntraced(function* (
  secretBox: SecretBox["Service"],
  bucket: KeyBucket,
  consumerName: string,
  { hash, suffix = "", algorithm: _, ...fields }: ApiKeyImport,
  now: DateTime.Utc
) {
  const base = yield* generateFields(consumerName, now)
  const stored: StoredKey = {
    ...base,
    suffix,
    ...(yield* hashAndEncryptImported(secretBox, bucket, base.id, hash))
  }
  return { stored: patchFields(stored, fields), value: undefined } satisfies NewKey
})
