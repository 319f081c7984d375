/**
 * Updates: a missing field stays unchanged, `null` clears it. The schema of such fields, and what an update does.
 */
import { Schema, Struct } from "effect"
import { omitUndefined } from "../runtime/omitUndefined.ts"

/** The fields that a resource may have, as they are in the input that creates it, in its record and in results. */
export const optionalFields = Struct.map(Schema.optionalKey)

/** The same fields in an update. */
export const clearableFields = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  optionalFields(Struct.map(fields, Schema.NullOr))

/** New values of some fields. Only a field that may be absent can be cleared. */
export type Patch<A> = {
  readonly [Field in keyof A]?: A[Field] | (object extends Pick<A, Field> ? null : never) | undefined
}

/** A copy with the fields of a patch. A patch with a field that `A` does not have does not compile: it would be lost. */
export const applyPatch = <A extends object, P extends Patch<A>>(
  value: A,
  patch: P & { readonly [Field in Exclude<keyof P, keyof A>]: never }
): A =>
  Object.fromEntries(Object.entries({ ...value, ...omitUndefined(patch) }).filter(([, field]) => field !== null)) as A
