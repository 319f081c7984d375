/**
 * Re-encrypts and re-hashes every key, and the secrets of webhooks, under the primary secret while the service runs, so
 * that the other secrets can be removed.
 */

import { keepRevision, retryOnConflict, type SecretBox, Store, type StoreError } from "@tollgate/store/internal"
import { Effect, Option, Stream } from "effect"
import type { StoredKey } from "../records/ApiKey.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { keyRecords } from "../records/keyRecords.ts"
import type { KeyBuckets } from "./KeyBuckets.ts"
import { hashImportedKey, hashKeyValue } from "./keyHashes.ts"
import * as KeyValues from "./keyValues.ts"
import { deleteOtherSecretIds } from "./secretRecords.ts"

/** How many keys and webhooks were processed, by outcome. */
export interface ReencryptResult {
  /** Keys and webhooks that are now under the primary secret. */
  readonly reencrypted: number
  /** Those that already were under the primary secret, and those that were deleted meanwhile. */
  readonly unchanged: number
  /** Keys whose value is not stored. They verify only while the secret they were created under is configured. */
  readonly notStored: number
  /** Keys and webhooks whose ciphertext is damaged, was moved, or was encrypted with a secret that is not configured. */
  readonly undecryptable: number
}

const pageSize = 200

/** Re-encrypts what others than keys have encrypted. */
export type ReencryptOthers = Effect.Effect<ReadonlyArray<keyof ReencryptResult>, StoreError>

export const makeReencryptKeys = (secretBox: SecretBox["Service"], buckets: KeyBuckets["Service"]) => {
  const hasHashes = (stored: StoredKey, hashes: ReadonlyArray<string>): boolean =>
    hashes.length === stored.hashes.length && hashes.every((hash) => stored.hashes.includes(hash))

  /** The fields of a key under the primary secret, or the reason why they stay as they are. */
  const renewValue = Effect.fnUntraced(function* (bucket: KeyBucket, stored: StoredKey, sealed: string) {
    const plaintext = yield* Effect.option(KeyValues.decryptValue(secretBox, bucket, stored.id, sealed))
    if (Option.isNone(plaintext)) return "undecryptable" as const
    const { value } = plaintext
    const isCurrent = hasHashes(stored, hashKeyValue(secretBox, value)) && secretBox.isUnderPrimarySecret(sealed)
    if (isCurrent && secretBox.keyStorage === "encrypted") return "unchanged" as const
    return yield* KeyValues.hashAndEncrypt(secretBox, bucket, stored.id, value)
  })

  const renewImported = Effect.fnUntraced(function* (bucket: KeyBucket, stored: StoredKey, encryptedHash: string) {
    const plaintext = yield* Effect.option(KeyValues.decryptImportedHash(secretBox, bucket, stored.id, encryptedHash))
    if (Option.isNone(plaintext)) return "undecryptable" as const
    const hashes = hashImportedKey(secretBox, plaintext.value)
    if (hasHashes(stored, hashes) && secretBox.isUnderPrimarySecret(encryptedHash)) return "unchanged" as const
    return yield* KeyValues.hashAndEncryptImported(secretBox, bucket, stored.id, plaintext.value)
  })

  const reencryptOne = Effect.fnUntraced(function* (bucket: KeyBucket, id: string) {
    const store = yield* Store
    const entry = yield* keyRecords.get(getKeyBucketPartition(bucket), id)
    if (Option.isNone(entry)) return "unchanged" as const
    const stored = entry.value.value
    const { sealed, encryptedHash, ...rest } = stored
    const renewed =
      sealed !== undefined
        ? yield* renewValue(bucket, stored, sealed)
        : encryptedHash !== undefined
          ? yield* renewImported(bucket, stored, encryptedHash)
          : "notStored"
    if (typeof renewed === "string") return renewed
    yield* store.commit(getKeyBucketPartition(bucket), [
      keyRecords.replace(entry.value, keepRevision(entry.value, { ...rest, ...renewed }))
    ])
    return "reencrypted" as const
  })

  return function* (others: ReencryptOthers = Effect.succeed([])) {
    const counts = { reencrypted: 0, unchanged: 0, notStored: 0, undecryptable: 0 }
    for (const bucket of yield* buckets.all) {
      // From the newest on: keys that are created meanwhile already use the primary secret.
      yield* Stream.runForEach(
        keyRecords.stream(getKeyBucketPartition(bucket), { pageSize, descending: true }),
        Effect.fnUntraced(function* ({ value }) {
          counts[yield* retryOnConflict(reencryptOne(bucket, value.id))]++
        })
      )
    }
    for (const outcome of yield* others) counts[outcome]++
    if (counts.notStored + counts.undecryptable === 0) yield* deleteOtherSecretIds(secretBox)
    return counts
  }
}
