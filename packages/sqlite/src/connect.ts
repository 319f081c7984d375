/**
 * Opens a connection from a path or your application's `Database`, configures it for durability, and migrates the
 * schema.
 */
import { accessSync, constants, existsSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { StoreOpenError } from "@tollgate/store"
import { previewData } from "@tollgate/store/internal"
import Sqlite, { type Database } from "better-sqlite3"
import { Clock, Effect, Schedule, type Scope } from "effect"
import { classifyError, isAddonError, isBusy } from "./classifyError.ts"
import { createPrivateFile } from "./privateFile.ts"
import { latestVersion, migrate, UnknownSchemaError } from "./schema.ts"
import { checkSource, type SqliteOptions } from "./source.ts"

/** Milliseconds for which SQLite waits for a lock. It blocks the event loop meanwhile, so this is short. */
const busyTimeoutMs = 20

const defaultPageCacheMebibytes = 32

/** Older versions can corrupt a write-ahead log that several processes share. */
const minSqliteVersion = [3, 51, 3] as const

const describeLocation = (source: string | Database): string =>
  typeof source === "string" ? `SQLite database ${resolve(source)}` : `SQLite database ${source.name || "in memory"}`

const openError = (source: string | Database, problem: string, remedy: string, cause?: unknown): StoreOpenError =>
  new StoreOpenError({ location: describeLocation(source), problem, remedy, ...(cause === undefined ? {} : { cause }) })

/** Validates the source and the Node version before the native addon is loaded and any file is created. */
const validate = (source: string | Database): StoreOpenError | undefined => {
  const invalidSource = checkSource(source)
  if (invalidSource !== undefined) return new StoreOpenError({ location: "SQLite store", ...invalidSource })
  const napi = Number(process.versions["napi"] ?? 0)
  if (napi < 10) {
    return openError(
      source,
      `better-sqlite3 needs Node-API 10, but Node ${process.versions.node} has Node-API ${napi}`,
      "Run on Node 22.19 or later"
    )
  }
  if (typeof source !== "string") {
    if (!source.open) return openError(source, "the database connection is closed", "Pass an open connection")
    if (source.readonly) return openError(source, "the database connection is read-only", "Pass a writable connection")
    return undefined
  }
  if (source.trim() === "")
    return openError(source, "the path is empty", 'Pass a path, such as "data/tollgate.db", or ":memory:"')
  if (source === ":memory:") return undefined
  const path = resolve(source)
  if (!existsSync(dirname(path)))
    return openError(source, `the folder ${dirname(path)} does not exist`, "Create it first")
  if (!existsSync(path)) return undefined
  if (statSync(path).isDirectory()) return openError(source, "it is a folder", "Pass the path of a file")
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return undefined
  } catch (cause) {
    return openError(
      source,
      "this user has no permission to read and write it",
      "Change its permissions, or run as its owner",
      cause
    )
  }
}

const isUnsupported = (version: string): boolean => {
  const parts = version.split(".").map(Number)
  const first = minSqliteVersion.findIndex((needed, index) => parts[index] !== needed)
  return first >= 0 && (parts[first] ?? 0) < (minSqliteVersion[first] ?? 0)
}

/**
 * Opens a separate connection to a file, even if your application has one, so that the transactions, timeouts and
 * settings of your application stay untouched. An in-memory database exists in one connection only, so the store uses
 * that of your application.
 */
const openConnection = (source: string | Database): { readonly database: Database; readonly isOwned: boolean } => {
  if (typeof source !== "string" && source.memory) return { database: source, isOwned: false }
  const path = typeof source === "string" ? source.trim() : source.name
  if (path !== ":memory:") createPrivateFile(path)
  return { database: new Sqlite(path, { timeout: busyTimeoutMs }), isOwned: true }
}

const configure = (source: string | Database, database: Database, options: SqliteOptions): void => {
  const { durability = "full", pageCacheMebibytes = defaultPageCacheMebibytes } = options
  const version = database.prepare<[], string>("SELECT sqlite_version()").pluck().get() ?? "0"
  if (isUnsupported(version)) {
    throw openError(
      source,
      `SQLite ${version} can corrupt a database that several processes share`,
      `Install a better-sqlite3 with SQLite ${minSqliteVersion.join(".")} or later`
    )
  }
  const mode = database.pragma("journal_mode = WAL", { simple: true })
  if (mode !== "wal" && mode !== "memory") {
    throw openError(source, "its file system does not support write-ahead logging", "Put it on a local disk")
  }
  // A negative size is in kibibytes.
  database.pragma(`cache_size = -${pageCacheMebibytes * 1024}`)
  database.pragma(`synchronous = ${durability}`)
  migrate(database)
}

const toOpenError = (source: string | Database, error: unknown): StoreOpenError => {
  if (error instanceof StoreOpenError) return error
  if (error instanceof UnknownSchemaError) {
    if (error.version < latestVersion) return openError(source, previewData.problem, previewData.remedy, error)
    return openError(
      source,
      `it was created by a newer version of Tollgate: its schema version is ${error.version}, and this version supports ${latestVersion}`,
      "Upgrade @tollgate/sqlite, or restore a backup from this version",
      error
    )
  }
  if (error instanceof Error && "code" in error && /^SQLITE_(NOTADB|CORRUPT)/.test(String(error.code))) {
    return openError(
      source,
      "it is not a SQLite database, or it is corrupt",
      "Restore a backup, or pass another path",
      error
    )
  }
  if (isAddonError(error)) {
    return openError(
      source,
      `the native part of better-sqlite3 cannot be loaded by Node ${process.versions.node}: it is missing, or was built for another version or platform`,
      "Run npm rebuild better-sqlite3",
      error
    )
  }
  return openError(source, classifyError(error).problem, "Check the path, its permissions and the disk", error)
}

/** Opens, configures and migrates a database. Closing the scope closes the connection if this function opened it. */
export const connect = (
  source: string | Database,
  options: SqliteOptions
): Effect.Effect<Database, StoreOpenError, Scope.Scope> =>
  Effect.gen(function* () {
    const invalid = validate(source)
    if (invalid !== undefined) return yield* invalid
    const { database } = yield* Effect.acquireRelease(
      Effect.try({ try: () => openConnection(source), catch: (error) => error }),
      ({ database, isOwned }) => Effect.sync(() => void (isOwned && database.close()))
    )
    yield* Effect.try({ try: () => configure(source, database, options), catch: (error) => error }).pipe(
      // Several processes may create and migrate the same file concurrently.
      Effect.retry({ while: isBusy, schedule: Schedule.spaced("10 millis").pipe(Schedule.jittered), times: 150 }),
      Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())
    )
    return database
  }).pipe(Effect.mapError((error) => toOpenError(source, error)))
