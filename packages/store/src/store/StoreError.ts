/**
 * The errors of a store: it cannot be opened, it rejects a commit, it cannot be reached, or it contains a record that
 * this version cannot read.
 */
import { Schema } from "effect"
import { addHidden, defineError } from "../errors/defineError.ts"

/** The store cannot be opened. The message says what failed, where, and what to do. */
export class StoreOpenError extends defineError<StoreOpenError>()(
  "StoreOpenError",
  {
    code: "store-open",
    status: 500,
    title: "Store cannot be opened",
    meaning: "A store cannot be opened: the file, the server or the version is not usable.",
    remedy: "Do what `remedy` says, and start again. `location` names the store without its password.",
    isSentOverHttp: false,
    detail: ({ location, problem, remedy }) => `Cannot open the ${location}: ${problem}. ${remedy}.`
  },
  {
    location: Schema.String.annotate({ description: "The adapter and the location of the store, without a password." }),
    problem: Schema.String.annotate({ description: "What failed." }),
    remedy: Schema.String.annotate({ description: "What to do about it." })
  }
) {
  constructor(members: {
    readonly location: string
    readonly problem: string
    readonly remedy: string
    readonly cause?: unknown
  }) {
    const { cause, ...rest } = members
    super(rest)
    addHidden(this, { cause })
  }
}

/** The problem and the remedy of data that a preview of 0.1 wrote: its formats were never published. */
export const previewData = {
  problem: "a preview of Tollgate 0.1 wrote it, and this version does not read the formats of previews",
  remedy: "Start with an empty store, or run that preview and copy over HTTP what you need"
}

export type ConflictReason = "stale" | "unique-key" | "too-many-records" | "counter-exceeded" | "rate-limited"

/**
 * A precondition of the commit does not hold. No change was applied.
 *
 * - `stale`: the record `subject` is not at the expected version, or the counter `subject` has another value
 * - `unique-key`: the unique key `subject` belongs to another record
 * - `too-many-records`: more records have the index term `subject` than the commit allows
 * - `counter-exceeded`: the counter `subject` would exceed its maximum
 * - `rate-limited`: the rate limit in the counter `subject` has less left than the commit takes
 *
 * Operations retry stale commits. Over HTTP the error has neither `reason` nor `subject`, which are internal.
 */
export class StoreConflict extends defineError<StoreConflict>()("StoreConflict", {
  code: "concurrent-update",
  status: 409,
  title: "Concurrent modification",
  meaning: "Other requests changed the same record at each attempt. Nothing was changed.",
  remedy: "Send the request again. If it happens often, change the record from fewer clients at a time.",
  detail: () => "Other requests keep changing the same data. Try again.",
  schemaName: "ConcurrentUpdateProblem"
}) {
  readonly reason: ConflictReason
  declare readonly subject: string
  /** For `rate-limited`: the microseconds after which the same `Take` succeeds, if nothing else is taken. */
  declare readonly retryAfter: number

  constructor(
    members: { readonly reason?: ConflictReason; readonly subject?: string; readonly retryAfter?: number } = {}
  ) {
    const { reason = "stale", subject = "", retryAfter = 0, ...rest } = members
    super(rest)
    this.reason = reason
    addHidden(this, { subject, retryAfter })
  }

  override get message(): string {
    return `The store rejected the commit (${this.reason})`
  }
}

export type StoreOperationName =
  | "get"
  | "getByUniqueKey"
  | "list"
  | "search"
  | "counters"
  | "commit"
  | "clear"
  | "partitions"
  | "read"
  | "write"

const writes: ReadonlySet<StoreOperationName | undefined> = new Set(["commit", "clear", "write"])

const Outcome = Schema.Literals(["not-applied", "unknown"]).annotate({
  description: "Whether the request had an effect: it had none, or it may have been applied."
})

interface StoreUnavailableMembers {
  readonly outcome: typeof Outcome.Type
  readonly operation?: StoreOperationName | undefined
  readonly problem?: string
  readonly retryable?: boolean
  readonly cause?: unknown
  readonly detail?: string
}

/**
 * The operation failed for a reason that the caller did not cause, such as a lost connection. A failed commit with the
 * outcome `unknown` may have been applied: retry it with the same idempotency id. Over HTTP the error has the outcome
 * only: the other fields are internal.
 */
export class StoreUnavailable extends defineError<StoreUnavailable>()(
  "StoreUnavailable",
  {
    code: "store-unavailable",
    status: 503,
    title: "Store unavailable",
    meaning:
      "The store does not respond or fails, for example because the connection was lost. On a protected route, also " +
      "when too many requests write the same record.",
    remedy:
      "If `outcome` is `not-applied`, send the request again after `Retry-After`. If it is `unknown`, repeat it " +
      "with the same `Idempotency-Key`, or read the resource first; on a protected route send it again, although it " +
      "may have been counted. The operator checks the store.",
    detail: ({ outcome }) =>
      outcome === "not-applied"
        ? "Nothing was changed. Try again in a moment."
        : "The request may or may not have been applied. Retry it with the same Idempotency-Key, so that it is applied only once; " +
          "without one, read the resource before you retry."
  },
  { outcome: Outcome }
) {
  /** The operation that failed; `undefined` in a client, which does not know it. */
  readonly operation: StoreOperationName | undefined
  readonly problem: string
  /** Whether the same call may succeed later without any intervention. */
  readonly retryable: boolean

  constructor(members: StoreUnavailableMembers) {
    const { operation, problem = "the server cannot reach its store", retryable = true, cause, ...rest } = members
    super(rest)
    this.operation = operation
    this.problem = problem
    this.retryable = retryable
    addHidden(this, { cause })
  }

  override get message(): string {
    const verb = writes.has(this.operation) ? "written to" : "read"
    return this.operation === undefined
      ? `The store is not available: ${this.problem}. ${this.detail}`
      : `The store cannot be ${verb}: ${this.problem}`
  }
}

/** Whether the failed operation may have been applied. */
export const isOutcomeUnknown = (error: object): boolean =>
  error instanceof StoreUnavailable && error.outcome === "unknown"

/** A stored record that this version of Tollgate cannot read. Over HTTP it is an internal error. */
export class RecordUnreadable extends defineError<RecordUnreadable>()("RecordUnreadable", {
  code: "internal",
  status: 500,
  title: "Internal server error",
  meaning:
    "A stored record cannot be read by this version of Tollgate, for example after a downgrade or a change made " +
    "outside Tollgate.",
  remedy:
    "The operator finds the key of the record in the server log. Run the version that wrote the record, or restore " +
    "it from a backup.",
  detail: () => "A stored record cannot be read. See the server log."
}) {
  declare readonly key: string
  readonly problem: string

  constructor(members: { readonly key: string; readonly problem: string }) {
    const { key, problem, ...rest } = members
    super(rest)
    addHidden(this, { key })
    this.problem = problem
  }

  override get message(): string {
    return `The record ${this.key} cannot be read: ${this.problem}`
  }
}

/** All errors of a store operation. */
export type StoreError = StoreConflict | StoreUnavailable | RecordUnreadable
