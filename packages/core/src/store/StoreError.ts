/**
 * The errors of a store: it cannot be opened, it rejects a commit, it cannot be reached, or it contains a record that
 * this version cannot read.
 */
import { Schema } from "effect"

/** The store cannot be opened. The message says what failed, where, and what to do. */
export class StoreOpenError extends Schema.TaggedError<StoreOpenError>()("StoreOpenError", {
  /** The adapter and the location of the store, without a password. */
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
 * A precondition of the commit does not hold. No change was applied.
 *
 * - `stale`: the record `subject` is not at the expected version
 * - `unique-key`: the unique key `subject` belongs to another record
 * - `too-many-records`: more records have the index term `subject` than the commit allows
 * - `counter-exceeded`: the counter `subject` would exceed its maximum
 */
export class StoreConflict extends Schema.TaggedError<StoreConflict>()("StoreConflict", {
  reason: Schema.Literals(["stale", "unique-key", "too-many-records", "counter-exceeded"]),
  subject: Schema.String
}) {
  override get message(): string {
    return `The store rejected the commit (${this.reason})`
  }
}

/**
 * The operation failed for a reason that the caller did not cause, such as a lost connection. A failed commit with the
 * outcome `unknown` may have been applied: retry it with the same idempotency id.
 */
export class StoreUnavailable extends Schema.TaggedError<StoreUnavailable>()("StoreUnavailable", {
  operation: Schema.Literals(["get", "getByUniqueKey", "list", "counters", "commit", "clear"]),
  problem: Schema.String,
  /** Whether the same call may succeed later without any intervention. */
  retryable: Schema.Boolean,
  outcome: Schema.Literals(["not-applied", "unknown"]),
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message(): string {
    const verb = this.operation === "commit" || this.operation === "clear" ? "written to" : "read"
    return `The store cannot be ${verb}: ${this.problem}`
  }
}

/** Whether the failed operation may have been applied. */
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

/** All errors of a store operation. */
export type StoreError = StoreConflict | StoreUnavailable | RecordUnreadable
