/**
 * The fields of a key that callers can set, as they are stored and as they are returned.
 */
import { Struct } from "effect"
import { type ApiKey, type StoredKey, savedFieldNames } from "../records/ApiKey.ts"
import { omitUndefined } from "../runtime/omitUndefined.ts"

export type KeyFields = {
  readonly [Field in (typeof savedFieldNames)[number]]?: StoredKey[Field] | null | undefined
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
export const patchFields = (stored: StoredKey, patch: KeyFields): StoredKey => ({
  ...Struct.omit(stored, savedFieldNames),
  ...toStoredFields({ ...Struct.pick(stored, savedFieldNames), ...omitUndefined(Struct.pick(patch, savedFieldNames)) })
})

export const toPublicFields = (stored: StoredKey): ApiKey =>
  Struct.pick(stored, ["id", "createdOn", "updatedOn", ...savedFieldNames])
