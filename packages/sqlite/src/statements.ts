/**
 * Every statement that runs on the tables, prepared once.
 */
import type Sqlite from "better-sqlite3"

/** version, parent, terms, claims, body */
export type RecordRow = [number, string | null, string, string, string]
/** key and the columns of the record, then those of its parent */
export type RecordWithParentRow = [string, ...RecordRow, number | null, string | null, string, string, string]

const columns = (of: string) =>
  ["version", "parent", "terms", "claims", "body"].map((name) => `${of}.${name}`).join(", ")

interface Query<Parameters extends ReadonlyArray<unknown>, Row> {
  get(...parameters: Parameters): Row | undefined
  all(...parameters: Parameters): ReadonlyArray<Row>
}

interface Write<Parameters extends ReadonlyArray<unknown>> {
  run(...parameters: Parameters): Sqlite.RunResult
}

export const prepare = (database: Sqlite.Database) => {
  /** The first column alone. */
  const value = <P extends Array<unknown>, R>(sql: string): Query<P, R> => database.prepare<P, R>(sql).pluck()
  /** The columns as an array. */
  const row = <P extends Array<unknown>, R>(sql: string): Query<P, R> => database.prepare<P, R>(sql).raw()
  const named = <P extends Array<unknown>, R>(sql: string): Query<P, R> => database.prepare<P, R>(sql)
  const write = <P extends Array<unknown>>(sql: string): Write<P> => database.prepare<P>(sql)

  return {
    partition: value<[string], number>("SELECT id FROM tollgate_partitions WHERE name = ?"),
    makePartition: value<[string], number>(
      "INSERT INTO tollgate_partitions (name, sequence) VALUES (?, 0) RETURNING id"
    ),
    advance: value<[number, number], number>(
      "UPDATE tollgate_partitions SET sequence = sequence + ? WHERE id = ? RETURNING sequence"
    ),

    record: row<[number, string], RecordRow>(
      `SELECT ${columns("r")} FROM tollgate_records r WHERE partition = ? AND key = ?`
    ),
    recordById: row<[number], [string, ...RecordRow]>(
      `SELECT r.key, ${columns("r")} FROM tollgate_records r WHERE id = ?`
    ),
    version: value<[number, string], number>("SELECT version FROM tollgate_records WHERE partition = ? AND key = ?"),
    indexed: named<[number, string], { id: number; terms: string; claims: string }>(
      "SELECT id, terms, claims FROM tollgate_records WHERE partition = ? AND key = ?"
    ),
    insert: write<[number, string, number, string | null, string, string, string]>(
      "INSERT INTO tollgate_records (partition, key, version, parent, terms, claims, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
    ),
    update: write<[number, string | null, string, string, string, number]>(
      "UPDATE tollgate_records SET version = ?, parent = ?, terms = ?, claims = ?, body = ? WHERE id = ?"
    ),
    delete: write<[number]>("DELETE FROM tollgate_records WHERE id = ?"),
    someKeys: value<[number, number], string>("SELECT key FROM tollgate_records WHERE partition = ? LIMIT ?"),

    claimed: row<[number, string], RecordWithParentRow>(
      `SELECT r.key, ${columns("r")}, ${columns("p")} FROM tollgate_claims c
       JOIN tollgate_records r ON r.id = c.record
       LEFT JOIN tollgate_records p ON p.partition = r.partition AND p.key = r.parent
       WHERE c.partition = ? AND c.claim = ?`
    ),
    holder: value<[number, string], string>(
      `SELECT r.key FROM tollgate_claims c JOIN tollgate_records r ON r.id = c.record
       WHERE c.partition = ? AND c.claim = ?`
    ),
    claim: write<[number, string, number]>("INSERT INTO tollgate_claims VALUES (?, ?, ?)"),
    release: write<[number, string]>("DELETE FROM tollgate_claims WHERE partition = ? AND claim = ?"),

    term: named<[number, string], { id: number; total: number }>(
      "SELECT id, total FROM tollgate_terms WHERE partition = ? AND term = ?"
    ),
    countUp: value<[number, string], number>(
      `INSERT INTO tollgate_terms (partition, term, total) VALUES (?, ?, 1)
       ON CONFLICT DO UPDATE SET total = total + 1 RETURNING id`
    ),
    countDown: named<[number, string], { id: number; total: number }>(
      "UPDATE tollgate_terms SET total = total - 1 WHERE partition = ? AND term = ? RETURNING id, total"
    ),
    dropTerm: write<[number]>("DELETE FROM tollgate_terms WHERE id = ?"),
    post: write<[number, number]>("INSERT INTO tollgate_postings VALUES (?, ?)"),
    unpost: write<[number, number]>("DELETE FROM tollgate_postings WHERE term = ? AND record = ?"),
    page: value<[number, number, number], number>(
      "SELECT record FROM tollgate_postings WHERE term = ? ORDER BY record LIMIT ? OFFSET ?"
    ),

    counter: value<[number, string, number], number>(
      "SELECT value FROM tollgate_counters WHERE partition = ? AND name = ? AND expires > ?"
    ),
    count: write<[number, string, number, number]>(
      `INSERT INTO tollgate_counters VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET value = excluded.value, expires = max(expires, excluded.expires)`
    ),
    remembered: value<[number, string, number], string>(
      "SELECT committed FROM tollgate_once WHERE partition = ? AND id = ? AND expires > ?"
    ),
    remember: write<[number, string, string, number]>(
      `INSERT INTO tollgate_once VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET committed = excluded.committed, expires = excluded.expires`
    ),
    expireCounters: write<[number]>(
      `DELETE FROM tollgate_counters WHERE (partition, name) IN
       (SELECT partition, name FROM tollgate_counters WHERE expires <= ? LIMIT 10000)`
    ),
    expireOnce: write<[number]>(
      `DELETE FROM tollgate_once WHERE (partition, id) IN
       (SELECT partition, id FROM tollgate_once WHERE expires <= ? LIMIT 10000)`
    ),
    clearCounters: write<[number, number, number]>(
      `DELETE FROM tollgate_counters WHERE partition = ? AND name IN
       (SELECT name FROM tollgate_counters WHERE partition = ? LIMIT ?)`
    ),
    clearOnce: write<[number, number, number]>(
      `DELETE FROM tollgate_once WHERE partition = ? AND id IN
       (SELECT id FROM tollgate_once WHERE partition = ? LIMIT ?)`
    )
  }
}

export type Statements = ReturnType<typeof prepare>
