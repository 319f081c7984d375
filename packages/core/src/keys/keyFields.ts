/**
 * The fields of a key that callers can set, as they are stored and as they are returned.
 */

import { applyPatch } from "@tollgate/store/internal"
import { type DateTime, Predicate, Struct } from "effect"
import { type ApiKey, type ApiKeyUpdate, publicFieldNames, type StoredKey } from "../records/ApiKey.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { omitIfEnabled } from "../records/omitIfEnabled.ts"

export type KeyFields = Omit<ApiKeyUpdate, "key">

const hasNewExpiry = (stored: StoredKey, { expiresOn }: KeyFields): boolean =>
  Predicate.isNotNullish(expiresOn) && expiresOn.epochMilliseconds !== stored.expiresOn?.epochMilliseconds

/** A stored key with the fields of a request. `disabled: false` and empty lists are not stored. */
export const patchFields = (stored: StoredKey, fields: KeyFields, now: DateTime.Utc): StoredKey =>
  applyPatch(stored, {
    ...fields,
    revision: null,
    ...(hasNewExpiry(stored, fields) ? { expirySetOn: now } : {}),
    ...omitIfEnabled(fields),
    ...(fields.scopes?.length === 0 ? { scopes: null } : {}),
    ...(fields.ipAllow?.length === 0 ? { ipAllow: null } : {})
  })

/** A stored key as callers see it, with the names of its owner. */
export const toPublicFields = ({ bucketName }: Pick<KeyBucket, "bucketName">, stored: StoredKey): ApiKey => ({
  ...Struct.pick(stored, publicFieldNames),
  consumerName: stored.consumer,
  keyBucketName: bucketName
})
