/**
 * From what a caller asked for to a key as it is stored, and from there to what a caller may see.
 */
import { type DateTime, Effect } from "effect"
import * as Id from "../crypto/Id.ts"
import { mask, suffixOf } from "../crypto/KeyFormat.ts"
import type { SecretBox } from "../crypto/SecretBox.ts"
import { type ApiKey, type ApiKeyCreate, KeyId, type KeyVisibility, type StoredKey } from "../records/ApiKey.ts"
import { type KeyBucket, partitionOf } from "../records/KeyBucket.ts"
import { omitUndefined } from "../runtime/omitUndefined.ts"
import { invalidBody } from "../schema/InvalidInput.ts"
import { KeyNotRetained } from "./KeyError.ts"

export interface NewKey {
  readonly stored: StoredKey
  /** Known only now: afterwards it is sealed, or gone. */
  readonly value: string
}

/** What a value is sealed to. */
const associatedData = (bucket: KeyBucket, id: KeyId): string => `${partitionOf(bucket)} ${id}`

/** A value's hashes, seal and suffix, as they stand in its record. */
export const protect = Effect.fnUntraced(function* (
  vault: SecretBox["Service"],
  bucket: KeyBucket,
  id: KeyId,
  value: string
) {
  const kept = { suffix: suffixOf(value), hashes: vault.hashes(value) }
  if (vault.storage === "hash-only") return kept
  return { ...kept, sealed: yield* vault.encrypt(value, associatedData(bucket, id)) }
})

/** Refuses a supplied value that has our prefix and not our checksum. */
export const validateSuppliedKey = (vault: SecretBox["Service"], value: string, pointer: string) =>
  vault.isWellFormed(value) ? Effect.void : Effect.fail(invalidBody(pointer, "it has our prefix and a wrong checksum"))

/** Makes a key for a consumer; `pointer` is where in the request it was asked for. */
export const make = Effect.fnUntraced(function* (
  vault: SecretBox["Service"],
  bucket: KeyBucket,
  consumer: string,
  { expiresOn, description, key }: ApiKeyCreate,
  now: DateTime.Utc,
  pointer: string
) {
  if (key !== undefined) yield* validateSuppliedKey(vault, key, `${pointer}/key`)
  const id = KeyId.make(yield* Id.next("key"))
  const value = key ?? (yield* vault.generate)
  const stored: StoredKey = {
    id,
    consumer,
    createdOn: now,
    updatedOn: now,
    ...omitUndefined({ expiresOn, description }),
    ...(yield* protect(vault, bucket, id, value))
  }
  return { stored, value } satisfies NewKey
})

const fieldsOf = ({ id, createdOn, updatedOn, expiresOn, description }: StoredKey): ApiKey => ({
  id,
  createdOn,
  updatedOn,
  ...omitUndefined({ expiresOn, description })
})

/** A key with its value, at the moment when everybody may see it. */
export const withPlaintext = ({ stored, value }: NewKey): ApiKey => ({ ...fieldsOf(stored), key: value })

/** A key with as much of its value as was asked for. */
export const toApiKey = Effect.fnUntraced(function* (
  vault: SecretBox["Service"],
  bucket: KeyBucket,
  stored: StoredKey,
  format: KeyVisibility = "masked"
): Effect.fn.Return<ApiKey, KeyNotRetained> {
  const fields = fieldsOf(stored)
  if (format === "none") return fields
  if (format === "masked") return { ...fields, key: mask(stored.suffix) }
  if (stored.sealed === undefined) return yield* new KeyNotRetained()
  // A broken seal is nobody's input: it is told as a defect, and never as a value.
  return { ...fields, key: yield* Effect.orDie(vault.decrypt(stored.sealed, associatedData(bucket, stored.id))) }
})

/** The value that was sealed for a key. */
export const decryptValue = (vault: SecretBox["Service"], bucket: KeyBucket, id: KeyId, sealed: string) =>
  vault.decrypt(sealed, associatedData(bucket, id))

/** An answer to be remembered keeps no values where none are kept. */
export const redactForReplay = (vault: SecretBox["Service"], { key, ...rest }: ApiKey): ApiKey =>
  vault.storage === "hash-only" || key === undefined ? rest : { ...rest, key }
