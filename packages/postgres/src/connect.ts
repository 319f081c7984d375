/**
 * Opens the store's pool, or takes your application's, checks the server, and migrates the schema.
 */

import { StoreOpenError } from "@tollgate/store"
import { previewData } from "@tollgate/store/internal"
import { Effect, type Scope } from "effect"
import { classifyError, getRemedy, getSqlState, NoConnection } from "./classifyError.ts"
import { Database } from "./Database.ts"
import { isPreview, latestVersion, migrate, readVersion } from "./migrate.ts"
import { defaults, type PostgresStoreOptions } from "./options.ts"
import { openError, type PostgresSource, parseSource, type Target } from "./source.ts"

const minServerVersion = 15

const readSettings = async (database: Database) => {
  const [row] = await database.query(
    `SELECT pg_catalog.current_setting('server_version_num'), pg_catalog.current_setting('server_encoding'),
       pg_catalog.current_setting('synchronous_commit'), pg_catalog.current_setting('fsync'), pg_catalog.pg_is_in_recovery()`
  )
  const [version, encoding, synchronousCommit, fsync, isStandby] = row ?? []
  return {
    majorVersion: Math.floor(Number(version) / 10_000),
    encoding,
    synchronousCommit,
    fsync,
    isStandby: isStandby === "t"
  }
}

type ServerSettings = Awaited<ReturnType<typeof readSettings>>

const checkSettings = (location: string, settings: ServerSettings): StoreOpenError | undefined => {
  if (settings.majorVersion < minServerVersion) {
    return openError(
      location,
      `its server is PostgreSQL ${settings.majorVersion}`,
      `Run PostgreSQL ${minServerVersion} or later`
    )
  }
  if (settings.encoding !== "UTF8") {
    return openError(location, `its encoding is ${settings.encoding}`, "Create the database with ENCODING 'UTF8'")
  }
  return settings.isStandby
    ? openError(location, "its server is a standby, which is read-only", "Connect to the primary")
    : undefined
}

/** Logs a warning for each server setting that may lose acknowledged writes. */
const warnAboutDurability = Effect.fnUntraced(function* (location: string, settings: ServerSettings) {
  if (settings.fsync === "off") {
    yield* Effect.logWarning(
      `The ${location} runs with fsync off: a crash of its machine may lose or corrupt all data. Set fsync on`
    )
  }
  if (settings.synchronousCommit === "off") {
    yield* Effect.logWarning(
      `The ${location} runs with synchronous_commit off: a crash may lose the latest acknowledged writes. Set it on for this role`
    )
  }
})

const toOpenError = (location: string, error: unknown): StoreOpenError => {
  if (error instanceof StoreOpenError) return error
  const cause = error instanceof NoConnection ? error.cause : error
  const problem = getSqlState(cause) === "" ? "it does not respond" : classifyError(error).problem
  return openError(location, problem, getRemedy(error), cause)
}

/** Migrates if needed. A store with the latest version is opened without a write. */
const prepareSchema = async (database: Database, location: string, schema: string): Promise<void> => {
  const checkVersion = (version: number) => {
    if (isPreview(version)) throw openError(location, previewData.problem, previewData.remedy)
    if (version <= latestVersion) return
    throw openError(
      location,
      `a newer version of Tollgate has migrated it: its schema version is ${version}, and this version supports ${latestVersion}`,
      "Upgrade @tollgate/postgres, or restore a backup from this version"
    )
  }
  const version = await readVersion(database, schema)
  checkVersion(version)
  if (version === latestVersion) return
  await migrate(database, schema)
  checkVersion(await readVersion(database, schema))
}

const acquirePool = ({ pool, isOwned }: Target) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      // Without a listener, the error of an idle connection, such as at a restart of the server, would end the process.
      const ignoreError = () => undefined
      pool.on("error", ignoreError)
      return () => pool.off("error", ignoreError)
    }),
    (removeListener) =>
      Effect.promise(async () => {
        if (isOwned) await pool.end()
        else removeListener()
      })
  )

export const connect = (
  source: PostgresSource,
  options: PostgresStoreOptions
): Effect.Effect<Database, StoreOpenError, Scope.Scope> =>
  Effect.gen(function* () {
    const target = parseSource(source, options)
    if (target instanceof StoreOpenError) return yield* target
    const { location, pool } = target
    const schema = options.schema ?? defaults.schema
    yield* acquirePool(target)
    const database = yield* Effect.acquireRelease(
      Effect.sync(() => new Database(pool, options.queryTimeout ?? defaults.queryTimeout)),
      (database) => Effect.promise(() => database.close())
    )
    const attempt = <A>(run: () => Promise<A>) =>
      Effect.tryPromise({ try: run, catch: (error) => toOpenError(location, error) })
    const settings = yield* attempt(() => readSettings(database))
    const invalid = checkSettings(location, settings)
    if (invalid !== undefined) return yield* invalid
    yield* warnAboutDurability(location, settings)
    yield* attempt(() => prepareSchema(database, location, schema))
    return database
  })
