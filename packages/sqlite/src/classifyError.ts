/**
 * Classifies errors from SQLite and the file system: a message, and whether to retry.
 */
import { StoreUnavailable } from "@tollgate/store"

export const getErrorCode = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""

/** Another connection holds the lock. */
export const isBusy = (error: unknown): boolean => /^SQLITE_(BUSY|LOCKED)/.test(getErrorCode(error))

/**
 * The native addon of better-sqlite3 cannot be loaded: it was built for another version of Node or another platform, or
 * was not built because install scripts were off. Version 12 throws an error without a code if it finds no addon.
 */
export const isAddonError = (error: unknown): boolean =>
  /^(ERR_DLOPEN_FAILED|MODULE_NOT_FOUND)$/.test(getErrorCode(error)) ||
  (error instanceof Error && error.message.startsWith("Could not locate the bindings file"))

interface ErrorClass {
  readonly problem: string
  readonly retryable: boolean
}

const errorClasses: ReadonlyArray<readonly [RegExp, ErrorClass]> = [
  [/^SQLITE_(BUSY|LOCKED)/, { problem: "another process holds the database lock", retryable: true }],
  [/^(SQLITE_FULL|ENOSPC)/, { problem: "the disk is full; free some space", retryable: true }],
  [/^SQLITE_IOERR/, { problem: "reading from or writing to the disk failed", retryable: true }],
  [/^SQLITE_(READONLY|PERM|AUTH)/, { problem: "the database is read-only", retryable: false }],
  [/^SQLITE_(CORRUPT|NOTADB)/, { problem: "the database is corrupt; restore a backup", retryable: false }],
  [/^SQLITE_TOOBIG/, { problem: "a value exceeds the size limit of SQLite", retryable: false }],
  [/^SQLITE_NOMEM/, { problem: "the process is out of memory", retryable: true }],
  [/^SQLITE_CANTOPEN/, { problem: "the database files cannot be opened", retryable: true }],
  [/^(EACCES|EPERM|EROFS)/, { problem: "this user has no permission to create the file", retryable: false }],
  [/^(ENOENT|ENOTDIR)/, { problem: "the folder does not exist", retryable: false }]
]

export const classifyError = (error: unknown): ErrorClass => {
  const code = getErrorCode(error)
  const errorClass = errorClasses.find(([pattern]) => pattern.test(code))?.[1]
  const problem = code === "" ? "better-sqlite3 rejected the call" : `SQLite failed with ${code}`
  return errorClass ?? { problem, retryable: false }
}

export const toUnavailable = (
  operation: StoreUnavailable["operation"],
  error: unknown,
  outcome: StoreUnavailable["outcome"] = "not-applied"
): StoreUnavailable => new StoreUnavailable({ operation, ...classifyError(error), outcome, cause: error })

export const makeClosedError = (operation: StoreUnavailable["operation"]): StoreUnavailable =>
  new StoreUnavailable({ operation, problem: "the store is closed", retryable: false, outcome: "not-applied" })
