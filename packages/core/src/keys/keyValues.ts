/**
 * Hashes, encrypts and decrypts what a stored key holds of its value.
 */

import { getSuffix, type SecretBox } from "@tollgate/store/internal"
import { Effect } from "effect"
import type { KeyId, StoredKey } from "../records/ApiKey.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { hashImportedKey, hashKeyValue } from "./keyHashes.ts"

/** Binds a ciphertext to its record: it cannot be decrypted as the value of another key. */
const associatedData = (bucket: KeyBucket, id: KeyId): string => `${getKeyBucketPartition(bucket)} ${id}`

/** Differs from that of a value, so that an encrypted hash cannot be decrypted as a value. */
const hashAssociatedData = (bucket: KeyBucket, id: KeyId): string => `${associatedData(bucket, id)} sha256`

/** A key with fewer characters is not found by the last ones: they would be too much of the value. */
const minSearchableLength = 24

/** The stored form of a key value: its hashes, its suffix and, if configured, its ciphertext. */
export const hashAndEncrypt = Effect.fnUntraced(function* (
  secretBox: SecretBox["Service"],
  bucket: KeyBucket,
  id: KeyId,
  value: string
) {
  const fields = {
    suffix: getSuffix(value),
    ...(value.length < minSearchableLength ? { hasShortValue: true } : {}),
    hashes: hashKeyValue(secretBox, value)
  }
  if (secretBox.keyStorage === "hash-only") return fields
  return { ...fields, sealed: yield* secretBox.encrypt(value, associatedData(bucket, id)) }
})

/** Gives a stored key another value. An imported key becomes an ordinary one. */
export const replaceValue = Effect.fnUntraced(function* (
  secretBox: SecretBox["Service"],
  bucket: KeyBucket,
  { sealed: _, encryptedHash: __, hasShortValue: ___, ...rest }: StoredKey,
  value: string
) {
  const stored: StoredKey = { ...rest, ...(yield* hashAndEncrypt(secretBox, bucket, rest.id, value)) }
  return stored
})

/** The stored form of the SHA-256 of an imported key. It is kept, encrypted, to hash it again under another secret. */
export const hashAndEncryptImported = Effect.fnUntraced(function* (
  secretBox: SecretBox["Service"],
  bucket: KeyBucket,
  id: KeyId,
  sha256: string
) {
  const encryptedHash = yield* secretBox.encrypt(sha256, hashAssociatedData(bucket, id))
  return { hashes: hashImportedKey(secretBox, sha256), encryptedHash }
})

/** Decrypts the stored value of a key. */
export const decryptValue = (secretBox: SecretBox["Service"], bucket: KeyBucket, id: KeyId, encrypted: string) =>
  secretBox.decrypt(encrypted, associatedData(bucket, id))

/** Decrypts the stored hash of an imported key. */
export const decryptImportedHash = (secretBox: SecretBox["Service"], bucket: KeyBucket, id: KeyId, encrypted: string) =>
  secretBox.decrypt(encrypted, hashAssociatedData(bucket, id))
