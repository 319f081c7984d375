/**
 * Classifies errors from PostgreSQL and its driver: a message, whether to retry, and whether a commit may have been
 * applied.
 */
import type { ErrorClass } from "@tollgate/core/internal"

/** The store stops waiting. The connection is closed, because its response may still arrive. */
export class QueryTimeout extends Error {
  override readonly name = "QueryTimeout"
}

/** No connection could be taken from the pool, so nothing was sent. */
export class NoConnection extends Error {
  override readonly name = "NoConnection"
}

export const getSqlState = (error: unknown): string => {
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""
  return /^[0-9A-Z]{5}$/.test(code) ? code : ""
}

type Classification = readonly [pattern: RegExp, problem: string, isTransient: boolean, retryable: boolean]

/** By SQLSTATE. The server has rolled the statement back. */
const rejections: ReadonlyArray<Classification> = [
  [/^40/, "another transaction was in the way", true, true],
  [/^55P03/, "another session holds the lock of this partition", false, true],
  [
    /^57014/,
    "PostgreSQL cancelled the query: it took longer than statement_timeout, or someone cancelled it",
    false,
    true
  ],
  [/^57P03/, "PostgreSQL is starting or shutting down", true, true],
  [/^25006/, "this PostgreSQL server is read-only, as a standby is", true, true],
  [/^53300/, "PostgreSQL has no connection left; raise max_connections, or use smaller pools", true, true],
  [/^53100/, "the disk of PostgreSQL is full; free some space", false, true],
  [/^53/, "PostgreSQL has not enough resources", false, true],
  [/^58/, "PostgreSQL cannot read or write its files", false, true],
  [/^42501/, "this role lacks permission on the tables or functions of the store", false, false],
  [
    /^(42P01|42883|3F000)/,
    "tables or functions of the store are missing; open it again, or restore a backup",
    false,
    false
  ],
  [/^28/, "PostgreSQL rejects the user or the password", false, false],
  [/^3D000/, "the database does not exist", false, false],
  [/^XX00[12]/, "the database is corrupt; restore a backup", false, false]
]

/** The server closes the connection, in the worst case after it has applied the commit. */
const isDisconnection = /^(57P0[124]|08)/

export const classifyError = (error: unknown): ErrorClass => {
  const state = getSqlState(error)
  if (isDisconnection.test(state)) {
    return { problem: "PostgreSQL closed the connection", isTransient: true, retryable: true, outcome: "unknown" }
  }
  const rejection = rejections.find(([pattern]) => pattern.test(state))
  if (rejection !== undefined) {
    const [, problem, isTransient, retryable] = rejection
    return { problem, isTransient, retryable, outcome: "not-applied" }
  }
  if (state !== "") {
    return {
      problem: `PostgreSQL rejected the query (${state})`,
      isTransient: false,
      retryable: false,
      outcome: "not-applied"
    }
  }
  if (error instanceof NoConnection) {
    // The server may have refused the connection with one of the errors above.
    const cause = getSqlState(error.cause) === "" ? undefined : classifyError(error.cause)
    return {
      problem: cause?.problem ?? error.message,
      isTransient: cause?.isTransient ?? true,
      retryable: cause?.retryable ?? true,
      outcome: "not-applied"
    }
  }
  if (error instanceof QueryTimeout) {
    return { problem: error.message, isTransient: false, retryable: true, outcome: "unknown" }
  }
  // Not an error from PostgreSQL: the store failed to decode a row or made an invalid call.
  if (error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError) {
    return {
      problem: "the store failed with an internal error",
      isTransient: false,
      retryable: false,
      outcome: "unknown"
    }
  }
  return { problem: "the connection to PostgreSQL was lost", isTransient: true, retryable: true, outcome: "unknown" }
}

/** Copies an error without its fields, in which PostgreSQL quotes data, and without its message, which may do so too. */
export const withoutData = (error: unknown): Error => {
  const state = getSqlState(error)
  if (state !== "") return new Error(`SQLSTATE ${state}`)
  const copy = new Error(error instanceof Error ? error.message : String(error))
  if (error instanceof Error) copy.name = error.name
  return copy
}
