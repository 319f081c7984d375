/**
 * What can go wrong with a store, as data: it could not be opened, it refused a commit, it cannot
 * be reached, or it holds a record that this version cannot read.
 */
import { Schema } from "effect"

/** The store was not opened. The message says what failed, where, and what to do about it. */
export class StoreOpenError extends Schema.TaggedError<StoreOpenError>()("StoreOpenError", {
  /** Which adapter, and where it looked; never with a password. */
  location: Schema.String,
  problem: Schema.String,
  remedy: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message(): string {
    return `Cannot open the ${this.location}: ${this.problem}. ${this.remedy}.`
  }
}

/**
 * A commit was refused because of what the store holds. Nothing of it was applied.
 *
 * - `stale`: the record `subject` is not at the version that was expected
 * - `unique-key`: the unique key `subject` belongs to another record
 * - `limit`: more records carry the term `subject` than the commit allows
 * - `exceeded`: the counter `subject` would pass its maximum
 */
export class StoreConflict extends Schema.TaggedError<StoreConflict>()("StoreConflict", {
  reason: Schema.Literals(["stale", "unique-key", "limit", "exceeded"]),
  subject: Schema.String
}) {
  override get message(): string {
    return `The commit was refused (${this.reason})`
  }
}

/**
 * The store did not do what was asked, and the fault is not the caller's. A failed commit of which
 * `outcome` is `unknown` may have been applied: repeat it with the same `once` id to find out.
 */
export class StoreUnavailable extends Schema.TaggedError<StoreUnavailable>()("StoreUnavailable", {
  operation: Schema.Literals(["get", "getByUniqueKey", "list", "counters", "commit", "clear"]),
  problem: Schema.String,
  /** Whether the same call may succeed later without anybody's doing. */
  retryable: Schema.Boolean,
  outcome: Schema.Literals(["not-applied", "unknown"]),
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message(): string {
    const what = this.operation === "commit" || this.operation === "clear" ? "written to" : "read"
    return `The store cannot be ${what}: ${this.problem}`
  }
}

/** Whether what failed may have been done all the same. */
export const isOutcomeUnknown = (error: object): boolean =>
  error instanceof StoreUnavailable && error.outcome === "unknown"

/** A stored record that this version of Tollgate cannot read. */
export class RecordUnreadable extends Schema.TaggedError<RecordUnreadable>()("RecordUnreadable", {
  key: Schema.String,
  problem: Schema.String
}) {
  override get message(): string {
    return `The record ${this.key} cannot be read: ${this.problem}`
  }
}

/** Whatever a store, or what is in it, can answer instead of doing what a service asked. */
export type StoreError = StoreConflict | StoreUnavailable | RecordUnreadable
