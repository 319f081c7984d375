/**
 * Makes new API keys: generated, supplied by the caller, or imported by the hash of their value.
 */

import { Ids, invalidBody, type SecretBox } from "@tollgate/store/internal"
import { type DateTime, Effect } from "effect"
import { type ApiKeyCreate, type ApiKeyImport, KeyId, type StoredKey } from "../records/ApiKey.ts"
import type { StoredConsumer } from "../records/Consumer.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { patchFields } from "./keyFields.ts"
import { hashAndEncrypt, hashAndEncryptImported } from "./keyValues.ts"
import { rollNumber } from "./rolls.ts"

export interface NewKey {
  readonly stored: StoredKey
  /** The plaintext value; of an imported key unknown. The store holds only its hashes and, if configured, its ciphertext. */
  readonly value: string | undefined
}

/** The consumer that a key is for. */
export type KeyOwner = Pick<StoredConsumer, "id" | "name" | "rolls">

const generateFields = Effect.fnUntraced(function* (owner: KeyOwner, now: DateTime.Utc) {
  const id = KeyId.make(yield* Ids.generate("key"))
  return { id, consumer: owner.name, consumerId: owner.id, ...rollNumber(owner), createdOn: now, updatedOn: now }
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
  owner: KeyOwner,
  { key, ...fields }: ApiKeyCreate,
  now: DateTime.Utc,
  pointer: string
) {
  if (key !== undefined) yield* validateSuppliedKey(secretBox, key, `${pointer}/key`)
  const value = key ?? (yield* secretBox.generate)
  const base = yield* generateFields(owner, now)
  const stored: StoredKey = { ...base, ...(yield* hashAndEncrypt(secretBox, bucket, base.id, value)) }
  return { stored: patchFields(stored, fields, now), value } satisfies NewKey
})

const toHex = (digest: string): string =>
  digest.length === 64 ? digest : Buffer.from(digest, "base64").toString("hex")

/** Creates a key for a consumer from the hash of its value. */
export const makeImportedKey = Effect.fnUntraced(function* (
  secretBox: SecretBox["Service"],
  bucket: KeyBucket,
  owner: KeyOwner,
  { hash, suffix = "", algorithm: _, ...fields }: ApiKeyImport,
  now: DateTime.Utc
) {
  const base = yield* generateFields(owner, now)
  const stored: StoredKey = {
    ...base,
    suffix,
    ...(yield* hashAndEncryptImported(secretBox, bucket, base.id, toHex(hash)))
  }
  return { stored: patchFields(stored, fields, now), value: undefined } satisfies NewKey
})
