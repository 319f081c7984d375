/**
 * Converts stored keys into results for callers.
 */

import { forEachInPieces, mask, omitUndefined, type SecretBox } from "@tollgate/store/internal"
import { type DateTime, Effect } from "effect"
import type { ApiKey, KeyVisibility, StoredKey } from "../records/ApiKey.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { KeyNotRetained } from "./KeyError.ts"
import type { KeyUse } from "./KeyUse.ts"
import { toPublicFields } from "./keyFields.ts"
import { decryptValue } from "./keyValues.ts"
import type { NewKey } from "./newKeys.ts"

/** A new key, by default with its plaintext value, if there is one. */
export const toNewApiKey = (
  bucket: KeyBucket,
  { stored, value }: NewKey,
  visibility: KeyVisibility = "visible"
): ApiKey => {
  const shown = { none: undefined, masked: mask(stored.suffix), visible: value }
  return { ...toPublicFields(bucket, stored), ...omitUndefined({ key: shown[visibility] }) }
}

/**
 * Removes the key value from a result for replay if `keyStorage` is `hash-only`. Apply it when the result is stored,
 * and again when it is replayed: `keyStorage` may have changed to `hash-only` since.
 */
export const omitValueIfHashOnly = (secretBox: SecretBox["Service"], { key, ...rest }: ApiKey): ApiKey =>
  secretBox.keyStorage === "hash-only" || key === undefined ? rest : { ...rest, key }

/**
 * The value of a key: hidden, masked or decrypted. A value that is not stored is left out, so that a list with an imported
 * key can be read; with `hash-only`, where no value is stored, it fails instead.
 */
const showValue = Effect.fnUntraced(function* (
  secretBox: SecretBox["Service"],
  bucket: KeyBucket,
  { id, suffix, sealed }: StoredKey,
  visibility: KeyVisibility
) {
  if (visibility === "none") return undefined
  if (visibility === "masked") return mask(suffix)
  if (sealed === undefined) return secretBox.keyStorage === "hash-only" ? yield* new KeyNotRetained() : undefined
  // A value that cannot be decrypted is a defect: the caller's input cannot cause it.
  return yield* Effect.orDie(decryptValue(secretBox, bucket, id, sealed))
})

/** Converts stored keys of a bucket. Reads when they were last used: in one store call, or none if there are no keys. */
export const makeToApiKeys = (secretBox: SecretBox["Service"], keyUse: KeyUse["Service"]) =>
  Effect.fnUntraced(function* (
    bucket: KeyBucket,
    keys: ReadonlyArray<StoredKey>,
    visibility: KeyVisibility = "masked"
  ) {
    if (keys.length === 0) return []
    const lastUses: ReadonlyArray<DateTime.Utc | undefined> = yield* keyUse.read(
      getKeyBucketPartition(bucket),
      keys.map(({ id }) => id)
    )
    return yield* forEachInPieces(keys, (stored, index) =>
      Effect.map(
        showValue(secretBox, bucket, stored, visibility),
        (key): ApiKey => ({
          ...toPublicFields(bucket, stored),
          ...omitUndefined({ lastUsedOn: lastUses[index], key })
        })
      )
    )
  })
