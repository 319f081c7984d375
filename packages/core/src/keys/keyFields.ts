/**
 * The fields of a key that callers can set, as they are stored and as they are returned.
 */
import { Struct } from "effect"
import { type ApiKey, type ApiKeyUpdate, publicFieldNames, type StoredKey } from "../records/ApiKey.ts"
import { applyPatch } from "../schema/patch.ts"

export type KeyFields = Omit<ApiKeyUpdate, "key">

/** A stored key with the fields of a request. `disabled: false` and empty `scopes` are not stored. */
export const patchFields = (stored: StoredKey, fields: KeyFields): StoredKey =>
  applyPatch(stored, {
    ...fields,
    ...(fields.disabled === false ? { disabled: null } : {}),
    ...(fields.scopes?.length === 0 ? { scopes: null } : {})
  })

export const toPublicFields = (stored: StoredKey): ApiKey => Struct.pick(stored, publicFieldNames)
