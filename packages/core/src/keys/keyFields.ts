/**
 * The fields of a key that callers can set, as they are stored and as they are returned.
 */
import type { ApiKey, StoredKey } from "../records/ApiKey.ts"
import { omitUndefined } from "../runtime/omitUndefined.ts"

export type KeyFields = {
  readonly [Field in "expiresOn" | "description" | "disabled" | "scopes"]?: StoredKey[Field] | null | undefined
}

/** The fields as they are stored: without those that are `null`, `disabled: false` and empty `scopes`. */
export const toStoredFields = ({ expiresOn, description, disabled, scopes }: KeyFields) =>
  omitUndefined({
    expiresOn: expiresOn ?? undefined,
    description: description ?? undefined,
    disabled: disabled === true ? true : undefined,
    scopes: (scopes ?? []).length === 0 ? undefined : (scopes ?? undefined)
  })

/** Applies a patch to a stored key: a missing field stays unchanged, `null` clears it. */
export const patchFields = (stored: StoredKey, { expiresOn, description, disabled, scopes }: KeyFields): StoredKey => {
  const { expiresOn: _1, description: _2, disabled: _3, scopes: _4, ...rest } = stored
  const patched = { ...stored, ...omitUndefined({ expiresOn, description, disabled, scopes }) }
  return { ...rest, ...toStoredFields(patched) }
}

export const toPublicFields = (stored: StoredKey): ApiKey => {
  const { id, createdOn, updatedOn, expiresOn, description, disabled, scopes } = stored
  return { id, createdOn, updatedOn, ...omitUndefined({ expiresOn, description, disabled, scopes }) }
}
