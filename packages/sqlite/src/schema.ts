/**
 * The tables, and how a file comes to have them. Index-like tables are clustered by what they are looked up by;
 * records are not, because their bodies may be large.
 */
import type { Database } from "better-sqlite3"

/** Each entry takes a file from one schema version to the next. Entries are never changed, only added. */
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

export const latestVersion = migrations.length

/** The file was made by a newer version of this package. */
export class NewerSchemaError extends Error {
  override readonly name = "NewerSchema"
  readonly version: number

  constructor(version: number) {
    super(`schema ${version}`)
    this.version = version
  }
}

/** The version that is recorded, 0 if there is none, and whether all tables are Tollgate's own. */
const readSchemaState = (database: Database): { readonly recorded: number; readonly own: boolean } => {
  const tables = database
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .pluck()
    .all()
    .filter((name) => !name.startsWith("sqlite_"))
  const own = tables.every((name) => name.startsWith("tollgate_"))
  const recorded = tables.includes("tollgate_schema")
    ? (database.prepare<[], number>("SELECT version FROM tollgate_schema").pluck().get() ?? 0)
    : 0
  const numbered = own ? Number(database.pragma("user_version", { simple: true })) : 0
  if (Math.max(recorded, numbered) > latestVersion) throw new NewerSchemaError(Math.max(recorded, numbered))
  return { recorded, own }
}

/**
 * Brings a file to the latest schema, whole or not at all; a file that is there already is not written to, so that it
 * can be opened on a full disk.
 *
 * A file of Tollgate's own is numbered by `user_version`. In a database that also holds the host's tables that
 * number is the host's, so the version is kept in a table as well, and that is what counts.
 */
export const migrate = (database: Database): void => {
  if (readSchemaState(database).recorded === latestVersion) return
  const upgrade = database.transaction(() => {
    const { recorded, own } = readSchemaState(database)
    for (const migration of migrations.slice(recorded)) database.exec(migration)
    database.exec("CREATE TABLE IF NOT EXISTS tollgate_schema (version INTEGER NOT NULL) STRICT")
    database.exec("DELETE FROM tollgate_schema")
    database.prepare("INSERT INTO tollgate_schema VALUES (?)").run(latestVersion)
    if (own) database.pragma(`user_version = ${latestVersion}`)
  })
  upgrade.immediate()
}
