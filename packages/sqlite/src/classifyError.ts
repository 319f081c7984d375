/**
 * SQLite's failures, told so that somebody can act on them.
 */
import { StoreUnavailable } from "@tollgate/core"

export const getErrorCode = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""

/** Another connection holds the lock: worth waiting for. */
export const isBusy = (error: unknown): boolean => /^SQLITE_(BUSY|LOCKED)/.test(getErrorCode(error))

interface Fault {
  readonly problem: string
  readonly retryable: boolean
}

const faults: ReadonlyArray<readonly [RegExp, Fault]> = [
  [/^SQLITE_(BUSY|LOCKED)/, { problem: "another process kept the database locked", retryable: true }],
  [/^(SQLITE_FULL|ENOSPC)/, { problem: "the disk is full; make room, and it works again", retryable: true }],
  [/^SQLITE_IOERR/, { problem: "the disk failed to read or write", retryable: true }],
  [/^SQLITE_(READONLY|PERM|AUTH)/, { problem: "the database may not be written to", retryable: false }],
  [/^SQLITE_(CORRUPT|NOTADB)/, { problem: "the database is damaged; restore a backup", retryable: false }],
  [/^SQLITE_TOOBIG/, { problem: "a value is larger than SQLite can hold", retryable: false }],
  [/^SQLITE_NOMEM/, { problem: "the process is out of memory", retryable: true }],
  [/^SQLITE_CANTOPEN/, { problem: "the database's files cannot be opened", retryable: true }],
  [/^(EACCES|EPERM|EROFS)/, { problem: "this user may not create the file", retryable: false }],
  [/^(ENOENT|ENOTDIR)/, { problem: "the folder does not exist", retryable: false }]
]

export const classifyError = (error: unknown): Fault => {
  const code = getErrorCode(error)
  const known = faults.find(([pattern]) => pattern.test(code))?.[1]
  return known ?? { problem: code === "" ? "SQLite was used wrongly" : `SQLite failed with ${code}`, retryable: false }
}

export const unavailable = (
  operation: StoreUnavailable["operation"],
  error: unknown,
  outcome: StoreUnavailable["outcome"] = "not-applied"
): StoreUnavailable => new StoreUnavailable({ operation, ...classifyError(error), outcome, cause: error })

export const storeClosed = (operation: StoreUnavailable["operation"]): StoreUnavailable =>
  new StoreUnavailable({ operation, problem: "the store has been closed", retryable: false, outcome: "not-applied" })
