/**
 * Classifies errors from PostgreSQL and its driver: a message, whether to retry, and whether a commit may have been
 * applied.
 */
import type { ErrorClass } from "@tollgate/store/internal"

/** The store stops waiting. The connection is closed, because its response may still arrive. */
export class QueryTimeout extends Error {
  override readonly name = "QueryTimeout"
}

/** No connection could be taken from the pool, so nothing was sent. */
export class NoConnection extends Error {
  override readonly name = "NoConnection"
}

/** A response that this version does not understand. */
export class UnexpectedResponse extends Error {
  override readonly name = "UnexpectedResponse"
}

export const getSqlState = (error: unknown): string => {
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""
  return /^[0-9A-Z]{5}$/.test(code) ? code : ""
}

/** The problem of a commit that cannot be sent or stored, such as one with a text that is too long. */
export const rejectedValue = "a value is too large for PostgreSQL"

interface Rejection {
  readonly pattern: RegExp
  readonly problem: string
  /** What to do if this happens while the store is opened. */
  readonly remedy: string
  readonly isTransient?: true
  readonly retryable?: true
  /** The connection leads to a server that takes no more writes. */
  readonly closesConnection?: true
}

/** By SQLSTATE. The server has rolled the statement back. */
const rejections: ReadonlyArray<Rejection> = [
  {
    pattern: /^40/,
    problem: "PostgreSQL rolled the commit back because of a concurrent transaction",
    remedy: "Open it again",
    isTransient: true,
    retryable: true
  },
  {
    pattern: /^55P03/,
    problem: "another session holds the lock of this partition or migration",
    remedy: "Open it again when that session has ended",
    retryable: true
  },
  {
    pattern: /^57014/,
    problem: "PostgreSQL cancelled the query: it took longer than statement_timeout, or someone cancelled it",
    remedy: "Raise statement_timeout for this role",
    retryable: true
  },
  {
    pattern: /^57P03/,
    problem: "PostgreSQL is starting or shutting down",
    remedy: "Open it again when the server is ready",
    isTransient: true,
    retryable: true
  },
  {
    pattern: /^25006/,
    problem: "this server or role is read-only, as a standby is",
    remedy: "Connect to the primary, with a role whose default_transaction_read_only is off",
    isTransient: true,
    retryable: true,
    closesConnection: true
  },
  {
    pattern: /^53300/,
    problem: "PostgreSQL has no connection left",
    remedy: "Raise max_connections, or use smaller pools",
    isTransient: true,
    retryable: true
  },
  { pattern: /^53100/, problem: "the disk of PostgreSQL is full", remedy: "Free some space", retryable: true },
  {
    pattern: /^53/,
    problem: "PostgreSQL is out of memory or another resource",
    remedy: "See the log of PostgreSQL",
    retryable: true
  },
  {
    pattern: /^58/,
    problem: "PostgreSQL cannot read or write its files",
    remedy: "See the log of PostgreSQL",
    retryable: true
  },
  {
    pattern: /^42501/,
    problem: "this role lacks permission on the tables or functions of the store",
    remedy:
      "Let a role that may create them run the SQL of PostgresStore.migrationSql() if they do not exist yet, and grant this role their use"
  },
  {
    pattern: /^(42P01|42883|3F000)/,
    problem: "tables or functions of the store are missing",
    remedy: "Open the store again, or restore a backup"
  },
  {
    pattern: /^42939/,
    problem: "PostgreSQL reserves names of schemas that begin with pg_",
    remedy: "Choose another schema"
  },
  {
    pattern: /^28/,
    problem: "it rejects the user or the password",
    remedy: "Check the credentials in the URL"
  },
  {
    pattern: /^3D000/,
    problem: "the database does not exist",
    remedy: "Create it, or check its name in the URL"
  },
  { pattern: /^(22|23|54)/, problem: rejectedValue, remedy: "See the log of PostgreSQL" },
  { pattern: /^XX00[12]/, problem: "the database is corrupt", remedy: "Restore a backup" }
]

const findRejection = (error: unknown): Rejection | undefined => {
  const state = getSqlState(error)
  return rejections.find(({ pattern }) => pattern.test(state))
}

/** The server closes the connection, in the worst case after it has applied the commit. */
const isDisconnection = /^(57P0[1245]|08|25P0[34])/

/** Whether a connection is still usable after an error. */
export const isUsableAfter = (error: unknown): boolean => {
  const state = getSqlState(error)
  return state !== "" && !isDisconnection.test(state) && findRejection(error)?.closesConnection !== true
}

/** Not an error of PostgreSQL or of a connection: the store failed to decode a row. */
const isOwnError = (error: unknown): boolean =>
  error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError

const makeClass = (
  problem: string,
  outcome: ErrorClass["outcome"],
  { isTransient = false, retryable = false }: { readonly isTransient?: boolean; readonly retryable?: boolean } = {}
): ErrorClass => ({ problem, outcome, isTransient, retryable })

const transient = { isTransient: true, retryable: true }

export const classifyError = (error: unknown): ErrorClass => {
  const state = getSqlState(error)
  if (isDisconnection.test(state)) return makeClass("PostgreSQL closed the connection", "unknown", transient)
  const rejection = findRejection(error)
  if (rejection !== undefined) return makeClass(rejection.problem, "not-applied", rejection)
  if (state !== "") return makeClass(`PostgreSQL rejected the query (${state})`, "not-applied")
  if (error instanceof NoConnection) {
    // The server may have refused the connection with one of the errors above.
    if (getSqlState(error.cause) !== "") return { ...classifyError(error.cause), outcome: "not-applied" }
    // Without a cause, the caller has waited long enough.
    return makeClass(error.message, "not-applied", error.cause === undefined ? { retryable: true } : transient)
  }
  if (error instanceof QueryTimeout) return makeClass(error.message, "unknown", { retryable: true })
  if (error instanceof UnexpectedResponse || isOwnError(error))
    return makeClass("the store failed with an internal error", "unknown")
  return makeClass("the connection to PostgreSQL was lost", "unknown", transient)
}

/** What to do about an error while the store is opened. */
export const getRemedy = (error: unknown): string => {
  const cause = error instanceof NoConnection && error.cause !== undefined ? error.cause : error
  return (
    findRejection(cause)?.remedy ??
    (getSqlState(cause) === "" ? "Start the server, or check host, port and TLS" : "See the log of PostgreSQL")
  )
}

/** Copies an error without its fields, in which PostgreSQL quotes data, and without its message, which may do so too. */
export const withoutData = (error: unknown): Error => {
  const state = getSqlState(error)
  if (state !== "") return new Error(`SQLSTATE ${state}`)
  // The message of a JSON error quotes the text.
  const copy = new Error(error instanceof Error && !isOwnError(error) ? error.message : "")
  copy.name = error instanceof Error ? error.name : "Error"
  return copy
}
