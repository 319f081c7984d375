/**
 * The migrations of the schema. They run in one transaction under an advisory lock when a store is opened, or by hand for
 * roles that may not create tables.
 */
import { Options } from "@tollgate/store/internal"
import { escapeIdentifier, escapeLiteral } from "pg"
import type { Database } from "./Database.ts"
import { defaults, schemaOption } from "./options.ts"
import { commitFunction } from "./sql/commitFunction.ts"
import { pageFunction } from "./sql/pageFunction.ts"
import { readFunctions } from "./sql/readFunctions.ts"
import { recordFunctions } from "./sql/recordFunctions.ts"
import { searchFunction } from "./sql/searchFunction.ts"
import { tables } from "./sql/tables.ts"

/**
 * Each entry migrates from one version to the next. Never change an entry; append a new one. A change of a function also
 * needs a new entry, which replaces the function in schemas that have it. Processes of the previous release go on while a
 * new one migrates: a function whose arguments change gets a new name.
 */
const migrations: ReadonlyArray<(schema: string) => string> = [
  (schema) =>
    [tables, recordFunctions, commitFunction, readFunctions, pageFunction, searchFunction]
      .map((make) => make(schema))
      .join("")
]

/** The versions up to this one are those of previews of 0.1. The migrations begin after it. */
const previewVersion = 4

export const isPreview = (version: number): boolean => version > 0 && version <= previewVersion

export const latestVersion = previewVersion + migrations.length

const migrationTimeoutMs = 60_000

const makeLock = (schema: string): string =>
  `SELECT pg_advisory_xact_lock(hashtextextended(${escapeLiteral(`tollgate migration of ${schema}`)}, 0));`

/** IF NOT EXISTS would need the permission to create schemas even if this one exists. */
const makeSchema = (schema: string, quoted: string): string => `DO $block$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = ${escapeLiteral(schema)}) THEN CREATE SCHEMA ${quoted}; END IF;
END
$block$;`

/** The statements that migrate from a version to the latest, for one transaction. */
const makeStatements = (schema: string, fromVersion: number): string => {
  const quoted = escapeIdentifier(schema)
  return [
    makeSchema(schema, quoted),
    ...migrations.slice(Math.max(0, fromVersion - previewVersion)).map((migration) => migration(quoted).trim()),
    `DELETE FROM ${quoted}.tollgate_schema;`,
    `INSERT INTO ${quoted}.tollgate_schema VALUES (${latestVersion});`
  ].join("\n\n")
}

type RunQuery = (text: string, values?: Array<string>) => Promise<ReadonlyArray<ReadonlyArray<unknown>>>

/** The version of the schema; 0 if there is none. */
const queryVersion = async (run: RunQuery, schema: string): Promise<number> => {
  // Reads the catalog itself: to_regclass may remember that the table did not exist before another process created it.
  const tables = await run("SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'tollgate_schema'", [schema])
  if (tables.length === 0) return 0
  const [row] = await run(`SELECT max(version) FROM ${escapeIdentifier(schema)}.tollgate_schema`)
  return Number(row?.[0] ?? 0)
}

export const readVersion = (database: Database, schema: string): Promise<number> =>
  queryVersion((text, values) => database.query(text, values), schema)

/** Migrates to the latest version. Other processes that open the store at the same time wait. */
export const migrate = (database: Database, schema: string): Promise<void> =>
  database.use(async (client) => {
    await client.query("BEGIN ISOLATION LEVEL READ COMMITTED")
    try {
      await client.query(`SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '30s'; ${makeLock(schema)}`)
      const run: RunQuery = async (text, values = []) => (await client.query({ text, values, rowMode: "array" })).rows
      const version = await queryVersion(run, schema)
      if (version < latestVersion && !isPreview(version)) await client.query(makeStatements(schema, version))
      await client.query("COMMIT")
    } catch (error) {
      await client.query("ROLLBACK").catch(() => undefined)
      throw error
    }
  }, migrationTimeoutMs)

/** The options of `PostgresStore.migrationSql`. */
export interface MigrationSqlOptions {
  /** The schema of the tables and functions. The default is `tollgate`. */
  readonly schema?: string | undefined
  /** The version to migrate from. The default is 0, an empty database. */
  readonly fromVersion?: number | undefined
}

const migrationSqlOptions = Options.struct<MigrationSqlOptions>()({
  schema: Options.optional(schemaOption),
  fromVersion: Options.optional(
    Options.value(
      (value): value is number =>
        Number.isInteger(value) && Number(value) >= 0 && Number(value) < latestVersion && !isPreview(Number(value)),
      latestVersion === previewVersion + 1
        ? "must be 0, the version of an empty database"
        : `must be 0, or an earlier version of the schema, from ${previewVersion + 1} to ${latestVersion - 1}`
    )
  )
})

/** The migration as SQL, for a role that may create tables. It runs completely or not at all. */
export const makeMigrationSql = (options?: MigrationSqlOptions): string => {
  const { schema = defaults.schema, fromVersion = 0 } = Options.decodeSync(migrationSqlOptions, options)
  return ["BEGIN;", makeLock(schema), makeStatements(schema, fromVersion), "COMMIT;", ""].join("\n\n")
}
