/**
 * The prepared statements. Columns and tables named `claim` hold unique keys; `tollgate_once` holds idempotency
 * records, whose column `committed` is the encoded result (`replays.ts`), and `tollgate_postings` the records that have
 * an index term.
 */
import type Sqlite from "better-sqlite3"

/** version, parent, terms, unique keys, search terms, body */
export type RecordRow = [number, string | null, string, string, string, string]
/** key and columns of the record, then the columns of its parent */
export type RecordWithParentRow = [string, ...RecordRow, number | null, string | null, string, string, string, string]

export type SearchRow = [term: string, record: number, key: string, parent: string | null]

/** An index term and the number of records that have it. */
export interface TermRow {
  readonly id: number
  readonly total: number
}

const selectColumns = (table: string) =>
  ["version", "parent", "terms", "claims", "search", "body"].map((name) => `${table}.${name}`).join(", ")

/** A search in the order of the primary key. CROSS JOIN: SQLite reads the terms first, whatever its statistics say. */
const makeSearch = (range: string) =>
  `SELECT s.term, s.record, r.key, r.parent FROM tollgate_search s CROSS JOIN tollgate_records r ON r.id = s.record
   WHERE s.partition = ? AND ${range} ORDER BY s.term, s.record DESC LIMIT ?`

export const searchSql = { from: makeSearch("s.term >= ?"), between: makeSearch("s.term >= ? AND s.term < ?") }

interface Query<Parameters extends ReadonlyArray<unknown>, Row> {
  get(...parameters: Parameters): Row | undefined
  all(...parameters: Parameters): ReadonlyArray<Row>
  /** Until the iterator ends or returns, the connection cannot run another statement. */
  iterate(...parameters: Parameters): IterableIterator<Row>
}

interface Write<Parameters extends ReadonlyArray<unknown>> {
  run(...parameters: Parameters): Sqlite.RunResult
}

export const prepareStatements = (database: Sqlite.Database) => {
  /** Rows as the value of the first column. */
  const value = <P extends Array<unknown>, R>(sql: string): Query<P, R> => database.prepare<P, R>(sql).pluck()
  /** Rows as arrays of columns. */
  const row = <P extends Array<unknown>, R>(sql: string): Query<P, R> => database.prepare<P, R>(sql).raw()
  /** Rows as objects. */
  const object = <P extends Array<unknown>, R>(sql: string): Query<P, R> => database.prepare<P, R>(sql)
  const write = <P extends Array<unknown>>(sql: string): Write<P> => database.prepare<P>(sql)

  return {
    partition: value<[string], number>("SELECT id FROM tollgate_partitions WHERE name = ?"),
    insertPartition: value<[string], number>(
      "INSERT INTO tollgate_partitions (name, sequence) VALUES (?, 0) RETURNING id"
    ),
    advanceSequence: value<[number, number], number>(
      "UPDATE tollgate_partitions SET sequence = sequence + ? WHERE id = ? RETURNING sequence"
    ),

    partitionsAfter: row<[number, number], [id: number, name: string]>(
      "SELECT id, name FROM tollgate_partitions WHERE id > ? ORDER BY id LIMIT ?"
    ),
    sequence: object<[string], { id: number; sequence: number }>(
      "SELECT id, sequence FROM tollgate_partitions WHERE name = ?"
    ),
    /** The sequence number of a partition, and the newest record id of all. */
    writeState: value<[number], string>(
      `SELECT p.sequence || ' ' || s.seq FROM tollgate_partitions p, sqlite_sequence s
       WHERE p.id = ? AND s.name = 'tollgate_records'`
    ),
    raiseSequence: write<[number, number]>("UPDATE tollgate_partitions SET sequence = max(sequence, ?) WHERE id = ?"),

    record: row<[number, string], RecordRow>(
      `SELECT ${selectColumns("r")} FROM tollgate_records r WHERE partition = ? AND key = ?`
    ),
    recordById: row<[number], [string, ...RecordRow]>(
      `SELECT r.key, ${selectColumns("r")} FROM tollgate_records r WHERE id = ?`
    ),
    version: value<[number, string], number>("SELECT version FROM tollgate_records WHERE partition = ? AND key = ?"),
    recordIndex: object<[number, string], { id: number; terms: string; claims: string; search: string }>(
      "SELECT id, terms, claims, search FROM tollgate_records WHERE partition = ? AND key = ?"
    ),
    insertRecord: write<[number, string, ...RecordRow]>(
      `INSERT INTO tollgate_records (partition, key, version, parent, terms, claims, search, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
    ),
    updateRecord: write<[...RecordRow, number]>(
      `UPDATE tollgate_records SET version = ?, parent = ?, terms = ?, claims = ?, search = ?, body = ? WHERE id = ?`
    ),
    deleteRecord: write<[number]>("DELETE FROM tollgate_records WHERE id = ?"),
    keys: value<[number, number], string>("SELECT key FROM tollgate_records WHERE partition = ? LIMIT ?"),

    recordIdsFrom: row<[number, string, number], [id: number, key: string]>(
      "SELECT id, key FROM tollgate_records WHERE partition = ? AND key >= ? ORDER BY key LIMIT ?"
    ),

    recordByUniqueKey: row<[number, string], RecordWithParentRow>(
      `SELECT r.key, ${selectColumns("r")}, ${selectColumns("p")} FROM tollgate_claims c
       JOIN tollgate_records r ON r.id = c.record
       LEFT JOIN tollgate_records p ON p.partition = r.partition AND p.key = r.parent
       WHERE c.partition = ? AND c.claim = ?`
    ),
    uniqueKeyOwner: value<[number, string], string>(
      `SELECT r.key FROM tollgate_claims c JOIN tollgate_records r ON r.id = c.record
       WHERE c.partition = ? AND c.claim = ?`
    ),
    insertUniqueKey: write<[number, string, number]>("INSERT INTO tollgate_claims VALUES (?, ?, ?)"),
    deleteUniqueKey: write<[number, string]>("DELETE FROM tollgate_claims WHERE partition = ? AND claim = ?"),

    term: object<[number, string], TermRow>("SELECT id, total FROM tollgate_terms WHERE partition = ? AND term = ?"),
    incrementTerm: value<[number, string], number>(
      `INSERT INTO tollgate_terms (partition, term, total) VALUES (?, ?, 1)
       ON CONFLICT DO UPDATE SET total = total + 1 RETURNING id`
    ),
    decrementTerm: object<[number, string], TermRow>(
      "UPDATE tollgate_terms SET total = total - 1 WHERE partition = ? AND term = ? RETURNING id, total"
    ),
    deleteTerm: write<[number]>("DELETE FROM tollgate_terms WHERE id = ?"),
    insertPosting: write<[number, number]>("INSERT INTO tollgate_postings VALUES (?, ?)"),
    deletePosting: write<[number, number]>("DELETE FROM tollgate_postings WHERE term = ? AND record = ?"),
    recordIds: value<[number, number, number, number], number>(
      "SELECT record FROM tollgate_postings WHERE term = ? AND record > ? ORDER BY record LIMIT ? OFFSET ?"
    ),
    newestRecordIds: value<[number, number, number, number], number>(
      "SELECT record FROM tollgate_postings WHERE term = ? AND record < ? ORDER BY record DESC LIMIT ? OFFSET ?"
    ),

    insertSearchTerm: write<[number, string, number]>("INSERT INTO tollgate_search VALUES (?, ?, ?)"),
    deleteSearchTerm: write<[number, string, number]>(
      "DELETE FROM tollgate_search WHERE partition = ? AND term = ? AND record = ?"
    ),
    searchFrom: row<[number, string, number], SearchRow>(searchSql.from),
    searchBetween: row<[number, string, string, number], SearchRow>(searchSql.between),

    counter: value<[number, string, number], number>(
      "SELECT value FROM tollgate_counters WHERE partition = ? AND name = ? AND expires > ?"
    ),
    countersFrom: row<[number, string, number], [name: string, value: number, expires: number]>(
      "SELECT name, value, expires FROM tollgate_counters WHERE partition = ? AND name >= ? AND expires > ? ORDER BY name"
    ),
    counterRow: row<[number, string], [value: number, expires: number]>(
      "SELECT value, expires FROM tollgate_counters WHERE partition = ? AND name = ?"
    ),
    setCounter: write<[number, string, number, number]>(
      `INSERT INTO tollgate_counters VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET value = excluded.value, expires = excluded.expires`
    ),
    updateCounter: write<[number, number, string]>(
      "UPDATE tollgate_counters SET value = ? WHERE partition = ? AND name = ?"
    ),
    deleteCounter: write<[number, string]>("DELETE FROM tollgate_counters WHERE partition = ? AND name = ?"),
    replay: value<[number, string, number], string>(
      "SELECT committed FROM tollgate_once WHERE partition = ? AND id = ? AND expires > ?"
    ),
    replaysFrom: row<[number, string, number], [id: string, committed: string, expires: number]>(
      "SELECT id, committed, expires FROM tollgate_once WHERE partition = ? AND id >= ? AND expires > ? ORDER BY id"
    ),
    insertReplay: write<[number, string, string, number]>(
      `INSERT INTO tollgate_once VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET committed = excluded.committed, expires = excluded.expires`
    ),
    deleteExpiredCounters: write<[number]>(
      `DELETE FROM tollgate_counters WHERE (partition, name) IN
       (SELECT partition, name FROM tollgate_counters WHERE expires <= ? LIMIT 10000)`
    ),
    deleteExpiredReplays: write<[number]>(
      `DELETE FROM tollgate_once WHERE (partition, id) IN
       (SELECT partition, id FROM tollgate_once WHERE expires <= ? LIMIT 10000)`
    ),
    clearCounters: write<[number, number, number]>(
      `DELETE FROM tollgate_counters WHERE partition = ? AND name IN
       (SELECT name FROM tollgate_counters WHERE partition = ? LIMIT ?)`
    ),
    clearReplays: write<[number, number, number]>(
      `DELETE FROM tollgate_once WHERE partition = ? AND id IN
       (SELECT id FROM tollgate_once WHERE partition = ? LIMIT ?)`
    )
  }
}

export type Statements = ReturnType<typeof prepareStatements>
