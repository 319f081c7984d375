/**
 * From a path, or a database that the host has open, to a connection with the settings that durability asks for.
 */
import { accessSync, constants, existsSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { StoreOpenError } from "@tollgate/core"
import Sqlite, { type Database } from "better-sqlite3"
import { Clock, Effect, Schedule, type Scope } from "effect"
import { classifyError, isBusy } from "./classifyError.ts"
import { createPrivateFile } from "./privateFile.ts"
import { latestVersion, migrate, NewerSchemaError } from "./schema.ts"
import { checkOptions, checkSource, type SqliteOptions } from "./source.ts"

/** Waiting for a lock happens on the event loop: this is as long as it may stand still. */
const busyTimeout = 20

/** Kibibytes of pages that are kept: what is looked up again and again is not read from the file each time. */
const pageCache = 32 * 1024

/** Below this, a write-ahead log that several processes use can be corrupted. */
const minSqliteVersion = [3, 51, 3] as const

const describeLocation = (source: string | Database): string =>
  typeof source === "string" ? `SQLite database ${resolve(source)}` : `SQLite database ${source.name || "in memory"}`

const openError = (source: string | Database, problem: string, remedy: string, cause?: unknown): StoreOpenError =>
  new StoreOpenError({ location: describeLocation(source), problem, remedy, ...(cause === undefined ? {} : { cause }) })

/** Refuses what would crash or mislead before the native part is loaded and before anything is created. */
const precheck = (source: string | Database, options: SqliteOptions): StoreOpenError | undefined => {
  const wrongSource = checkSource(source)
  if (wrongSource !== undefined) return new StoreOpenError({ location: "SQLite store", ...wrongSource })
  const wrongOptions = checkOptions(options)
  if (wrongOptions !== undefined) return openError(source, wrongOptions.problem, wrongOptions.remedy)
  const napi = Number(process.versions["napi"] ?? 0)
  if (napi < 10) {
    return openError(
      source,
      `better-sqlite3 needs Node-API 10, and this is Node ${process.versions.node} with ${napi}`,
      "Run on Node 22.19 or later"
    )
  }
  if (typeof source !== "string") {
    if (!source.open) return openError(source, "the connection that was handed in is closed", "Hand in an open one")
    if (source.readonly)
      return openError(source, "the connection that was handed in is read-only", "Hand in a writable one")
    return undefined
  }
  if (source.trim() === "")
    return openError(source, "the path is empty", 'Give a path, such as "data/tollgate.db", or ":memory:"')
  if (source === ":memory:") return undefined
  const path = resolve(source)
  if (!existsSync(dirname(path)))
    return openError(source, `the folder ${dirname(path)} does not exist`, "Create it first")
  if (!existsSync(path)) return undefined
  if (statSync(path).isDirectory()) return openError(source, "it is a folder", "Give the path of a file")
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return undefined
  } catch (cause) {
    return openError(
      source,
      "this user may not read and write it",
      "Change its permissions, or run as its owner",
      cause
    )
  }
}

const isOld = (version: string): boolean => {
  const parts = version.split(".").map(Number)
  const first = minSqliteVersion.findIndex((needed, index) => parts[index] !== needed)
  return first >= 0 && (parts[first] ?? 0) < (minSqliteVersion[first] ?? 0)
}

/**
 * A file gets a connection of its own even when the host has it open already: the host's transactions, time-outs and
 * settings stay the host's. A database in memory exists in one connection only, so that one is used.
 */
const connection = (source: string | Database): { readonly database: Database; readonly owned: boolean } => {
  if (typeof source !== "string" && source.memory) return { database: source, owned: false }
  const path = typeof source === "string" ? source.trim() : source.name
  if (path !== ":memory:") createPrivateFile(path)
  return { database: new Sqlite(path, { timeout: busyTimeout }), owned: true }
}

const prepare = (source: string | Database, database: Database, options: SqliteOptions): void => {
  const version = database.prepare<[], string>("SELECT sqlite_version()").pluck().get() ?? "0"
  if (isOld(version)) {
    throw openError(
      source,
      `SQLite ${version} can corrupt a database that several processes use`,
      `Install a better-sqlite3 with SQLite ${minSqliteVersion.join(".")} or later`
    )
  }
  const mode = database.pragma("journal_mode = WAL", { simple: true })
  if (mode !== "wal" && mode !== "memory") {
    throw openError(source, "its file system cannot keep a write-ahead log", "Put it on a local disk")
  }
  database.pragma(`cache_size = -${pageCache}`)
  database.pragma(`synchronous = ${options.durability === "normal" ? "NORMAL" : "FULL"}`)
  migrate(database)
}

const toOpenError = (source: string | Database, error: unknown): StoreOpenError => {
  if (error instanceof StoreOpenError) return error
  if (error instanceof NewerSchemaError) {
    return openError(
      source,
      `it was made by a newer version of Tollgate: its schema is ${error.version}, and this version knows ${latestVersion}`,
      "Upgrade @tollgate/sqlite, or restore a backup that this version made",
      error
    )
  }
  if (error instanceof Error && "code" in error && /^SQLITE_(NOTADB|CORRUPT)/.test(String(error.code))) {
    return openError(
      source,
      "it is not a SQLite database, or it is damaged",
      "Restore a backup, or give another path",
      error
    )
  }
  return openError(source, classifyError(error).problem, "Check the path, its permissions and the disk", error)
}

/** Opens, configures and migrates; closes what it opened, and nothing else. */
export const connect = (
  source: string | Database,
  options: SqliteOptions
): Effect.Effect<Database, StoreOpenError, Scope.Scope> =>
  Effect.gen(function* () {
    const refusal = precheck(source, options)
    if (refusal !== undefined) return yield* refusal
    const { database } = yield* Effect.acquireRelease(
      Effect.try({ try: () => connection(source), catch: (error) => error }),
      ({ database, owned }) => Effect.sync(() => void (owned && database.close()))
    )
    yield* Effect.try({ try: () => prepare(source, database, options), catch: (error) => error }).pipe(
      // Several processes may start on a new file at once.
      Effect.retry({ while: isBusy, schedule: Schedule.spaced("10 millis").pipe(Schedule.jittered), times: 150 }),
      Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())
    )
    return database
  }).pipe(Effect.mapError((error) => toOpenError(source, error)))
