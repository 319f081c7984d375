/**
 * Converts between the three forms of an API key: the caller's input, the stored record, and the result for the caller.
 */
import { type DateTime, Effect } from "effect"
import * as Id from "../crypto/Id.ts"
import { getSuffix, mask } from "../crypto/KeyFormat.ts"
import type { SecretBox } from "../crypto/SecretBox.ts"
import { type ApiKey, type ApiKeyCreate, KeyId, type KeyVisibility, type StoredKey } from "../records/ApiKey.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { omitUndefined } from "../runtime/omitUndefined.ts"
import { invalidBody } from "../schema/InvalidInput.ts"
import { KeyNotRetained } from "./KeyError.ts"

export interface NewKey {
  readonly stored: StoredKey
  /** The plaintext value. The store holds only its hashes and, if configured, its ciphertext. */
  readonly value: string
}

/** Binds a ciphertext to its record: it cannot be decrypted as the value of another key. */
const associatedData = (bucket: KeyBucket, id: KeyId): string => `${getKeyBucketPartition(bucket)} ${id}`

/** The stored form of a key value: its hashes, its suffix and, if configured, its ciphertext. */
export const hashAndEncrypt = Effect.fnUntraced(function* (
  secretBox: SecretBox["Service"],
  bucket: KeyBucket,
  id: KeyId,
  value: string
) {
  const fields = { suffix: getSuffix(value), hashes: secretBox.keyHashes(value) }
  if (secretBox.keyStorage === "hash-only") return fields
  return { ...fields, sealed: yield* secretBox.encrypt(value, associatedData(bucket, id)) }
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
  { expiresOn, description, key }: ApiKeyCreate,
  now: DateTime.Utc,
  pointer: string
) {
  if (key !== undefined) yield* validateSuppliedKey(secretBox, key, `${pointer}/key`)
  const id = KeyId.make(yield* Id.generate("key"))
  const value = key ?? (yield* secretBox.generate)
  const stored: StoredKey = {
    id,
    consumer: consumerName,
    createdOn: now,
    updatedOn: now,
    ...omitUndefined({ expiresOn, description }),
    ...(yield* hashAndEncrypt(secretBox, bucket, id, value))
  }
  return { stored, value } satisfies NewKey
})

const toPublicFields = ({ id, createdOn, updatedOn, expiresOn, description }: StoredKey): ApiKey => ({
  id,
  createdOn,
  updatedOn,
  ...omitUndefined({ expiresOn, description })
})

/** A new key with its plaintext value. */
export const toApiKeyWithValue = ({ stored, value }: NewKey): ApiKey => ({ ...toPublicFields(stored), key: value })

/** A stored key with its value hidden, masked or decrypted. */
export const toApiKey = Effect.fnUntraced(function* (
  secretBox: SecretBox["Service"],
  bucket: KeyBucket,
  stored: StoredKey,
  visibility: KeyVisibility = "masked"
): Effect.fn.Return<ApiKey, KeyNotRetained> {
  const fields = toPublicFields(stored)
  if (visibility === "none") return fields
  if (visibility === "masked") return { ...fields, key: mask(stored.suffix) }
  if (stored.sealed === undefined) return yield* new KeyNotRetained()
  // A value that cannot be decrypted is a defect: the caller's input cannot cause it.
  return { ...fields, key: yield* Effect.orDie(decryptValue(secretBox, bucket, stored.id, stored.sealed)) }
})

/** Decrypts the stored value of a key. */
export const decryptValue = (secretBox: SecretBox["Service"], bucket: KeyBucket, id: KeyId, encrypted: string) =>
  secretBox.decrypt(encrypted, associatedData(bucket, id))

/**
 * Removes the key value from a result for replay if `keyStorage` is `hash-only`. Apply it when the result is stored,
 * and again when it is replayed: `keyStorage` may have changed to `hash-only` since.
 */
export const omitValueIfHashOnly = (secretBox: SecretBox["Service"], { key, ...rest }: ApiKey): ApiKey =>
  secretBox.keyStorage === "hash-only" || key === undefined ? rest : { ...rest, key }
