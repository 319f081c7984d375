/**
 * Re-encrypts and re-hashes every key under the primary secret while the service runs, so that the other secrets can be
 * removed.
 */
import { Effect, Option } from "effect"
import type { SecretBox } from "../crypto/SecretBox.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { keyRecords } from "../records/keyRecords.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { Store } from "../store/Store.ts"
import type { KeyBuckets } from "./KeyBuckets.ts"
import * as KeyValues from "./keyValues.ts"
import { deleteOtherSecretIds } from "./secretRecords.ts"

/** How many keys were processed, by outcome. */
export interface ReencryptResult {
  /** Keys that are now under the primary secret. */
  readonly reencrypted: number
  /** Keys that already were under the primary secret, and keys that were deleted meanwhile. */
  readonly unchanged: number
  /** Keys whose value is not stored. They verify only while the secret they were created under is configured. */
  readonly notStored: number
  /** Keys whose ciphertext is damaged, was moved, or was encrypted with a secret that is not configured. */
  readonly undecryptable: number
}

const pageSize = 200

export const makeReencryptKeys = (secretBox: SecretBox["Service"], buckets: KeyBuckets["Service"]) => {
  const reencryptOne = Effect.fnUntraced(function* (bucket: KeyBucket, id: string) {
    const store = yield* Store
    const entry = yield* keyRecords.get(getKeyBucketPartition(bucket), id)
    if (Option.isNone(entry)) return "unchanged" as const
    const stored = entry.value.value
    const { sealed, ...rest } = stored
    if (sealed === undefined) return "notStored" as const
    const plaintext = yield* Effect.option(KeyValues.decryptValue(secretBox, bucket, stored.id, sealed))
    if (Option.isNone(plaintext)) return "undecryptable" as const
    const { value } = plaintext
    const hashes = secretBox.keyHashes(value)
    const hasCurrentHashes =
      hashes.length === stored.hashes.length && hashes.every((hash) => stored.hashes.includes(hash))
    if (hasCurrentHashes && secretBox.keyStorage === "encrypted" && secretBox.isUnderPrimarySecret(sealed))
      return "unchanged" as const
    const protectedValue = yield* KeyValues.hashAndEncrypt(secretBox, bucket, stored.id, value)
    yield* store.commit(getKeyBucketPartition(bucket), [
      keyRecords.replace(entry.value, { ...rest, ...protectedValue })
    ])
    return "reencrypted" as const
  })

  return function* () {
    const counts = { reencrypted: 0, unchanged: 0, notStored: 0, undecryptable: 0 }
    for (const bucket of yield* buckets.all) {
      const { total } = yield* keyRecords.page(getKeyBucketPartition(bucket), { offset: 0, limit: 0 })
      // Pages run from the end to the start: a concurrent delete shifts keys towards pages that are still to be read,
      // so none is skipped. Keys that are created meanwhile already use the primary secret.
      for (let end = total; end > 0; end -= pageSize) {
        const offset = Math.max(0, end - pageSize)
        const page = yield* keyRecords.page(getKeyBucketPartition(bucket), { offset, limit: end - offset })
        for (const { value } of page.entries) {
          counts[yield* retryOnConflict(reencryptOne(bucket, value.id))]++
        }
      }
    }
    if (counts.notStored + counts.undecryptable === 0) yield* deleteOtherSecretIds(secretBox)
    return counts
  }
}
