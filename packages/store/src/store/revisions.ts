/**
 * Versions for callers. Some changes of a record are not visible to callers, such as the outcome of a delivery: they keep its
 * version, so that an `If-Match` of the caller still holds.
 */
import type { Entry } from "./Collection.ts"

interface Revised {
  /** The version that callers know, if the record was written since without a change that they can see. */
  readonly revision?: number
}

/** The version of a record that callers know. */
export const getRevision = ({ value, version }: Entry<Revised>): number => value.revision ?? version

/** The new value of a record after a change that callers cannot see. */
export const keepRevision = <A extends Revised>(entry: Entry<A>, value: A): A => ({
  ...value,
  revision: getRevision(entry)
})
