/**
 * The schema and its migrations. Lookup tables are clustered by their primary key (WITHOUT ROWID). The records table is
 * not, because bodies may be large. Tables and columns named `claim` hold unique keys;
 * `tollgate_once` holds idempotency records. The names are stored and cannot change.
 */
import type { Database } from "better-sqlite3"

/** Each entry migrates a file from one schema version to the next. Never change an entry; append a new one. */
const migrations: ReadonlyArray<string> = [
  `
  CREATE TABLE tollgate_partitions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    sequence INTEGER NOT NULL
  ) STRICT;

  -- AUTOINCREMENT: an id is never used again, so that ids are in the order of creation.
  CREATE TABLE tollgate_records (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    partition INTEGER NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    parent TEXT,
    terms TEXT NOT NULL,
    claims TEXT NOT NULL,
    search TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (partition, key)
  ) STRICT;

  CREATE TABLE tollgate_claims (
    partition INTEGER NOT NULL,
    claim TEXT NOT NULL,
    record INTEGER NOT NULL,
    PRIMARY KEY (partition, claim)
  ) STRICT, WITHOUT ROWID;

  -- The total is kept, because counting fifty thousand postings takes milliseconds.
  CREATE TABLE tollgate_terms (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    partition INTEGER NOT NULL,
    term TEXT NOT NULL,
    total INTEGER NOT NULL,
    UNIQUE (partition, term)
  ) STRICT;

  CREATE TABLE tollgate_postings (
    term INTEGER NOT NULL,
    record INTEGER NOT NULL,
    PRIMARY KEY (term, record)
  ) STRICT, WITHOUT ROWID;

  -- SQLite compares texts by their bytes in UTF-8, and so by their code points.
  CREATE TABLE tollgate_search (
    partition INTEGER NOT NULL,
    term TEXT NOT NULL,
    record INTEGER NOT NULL,
    PRIMARY KEY (partition, term, record DESC)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE tollgate_counters (
    partition INTEGER NOT NULL,
    name TEXT NOT NULL,
    value INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (partition, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX tollgate_counters_expiry ON tollgate_counters (expires);

  CREATE TABLE tollgate_once (
    partition INTEGER NOT NULL,
    id TEXT NOT NULL,
    committed TEXT NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (partition, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX tollgate_once_expiry ON tollgate_once (expires);
  `
]

/** The last version that previews of 0.1 wrote. The migrations begin after it. */
const previewVersion = 2

export const latestVersion = previewVersion + migrations.length

/** The file was created by a newer version of this package, or by a preview. */
export class UnknownSchemaError extends Error {
  override readonly name = "UnknownSchemaError"
  readonly version: number

  constructor(version: number) {
    super(`schema ${version}`)
    this.version = version
  }
}

/** Reads the recorded schema version (0 if there is none) and whether the file contains no tables of the host. */
const readSchemaState = (database: Database): { readonly version: number; readonly isOwnFile: boolean } => {
  const tables = database
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .pluck()
    .all()
    .filter((name) => !name.startsWith("sqlite_"))
  const isOwnFile = tables.every((name) => name.startsWith("tollgate_"))
  const version = tables.includes("tollgate_schema")
    ? (database.prepare<[], number>("SELECT version FROM tollgate_schema").pluck().get() ?? 0)
    : 0
  const userVersion = isOwnFile ? Number(database.pragma("user_version", { simple: true })) : 0
  const newest = Math.max(version, userVersion)
  const isPreview = version <= previewVersion && tables.includes("tollgate_records")
  if (newest > latestVersion || isPreview) throw new UnknownSchemaError(newest)
  return { version, isOwnFile }
}

/**
 * Migrates a file to the latest schema in one transaction. It does not write to a file with the latest schema, so that a
 * store can be opened on a full disk.
 *
 * The authoritative schema version is in the table `tollgate_schema`. `user_version` has it as well, but only in files
 * without tables of the host: in a shared database, `user_version` belongs to the host.
 */
export const migrate = (database: Database): void => {
  if (readSchemaState(database).version === latestVersion) return
  const upgrade = database.transaction(() => {
    const { version, isOwnFile } = readSchemaState(database)
    for (const migration of migrations.slice(Math.max(0, version - previewVersion))) database.exec(migration)
    database.exec("CREATE TABLE IF NOT EXISTS tollgate_schema (version INTEGER NOT NULL) STRICT")
    database.exec("DELETE FROM tollgate_schema")
    database.prepare("INSERT INTO tollgate_schema VALUES (?)").run(latestVersion)
    if (isOwnFile) database.pragma(`user_version = ${latestVersion}`)
  })
  upgrade.immediate()
}
