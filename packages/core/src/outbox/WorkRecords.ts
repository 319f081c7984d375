/**
 * Records that are work which follows from a commit: the commit leaves an entry in the directory of work.
 */
import { Context } from "effect"

/** The prefixes of keys of records, and of their index terms. */
export interface WorkRecords {
  /** New work, which the relay does at once. */
  readonly newKeys?: ReadonlyArray<string>
  readonly newTerms?: ReadonlyArray<string>
  /** Work that this process does already. */
  readonly heldKeys?: ReadonlyArray<string>
  readonly heldTerms?: ReadonlyArray<string>
}

/** The work of all modules. */
export const AllWorkRecords = Context.Reference<ReadonlyArray<WorkRecords>>("@tollgate/core/outbox/AllWorkRecords", {
  defaultValue: () => []
})
