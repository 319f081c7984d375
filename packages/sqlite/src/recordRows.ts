/**
 * Records as rows of the tables.
 */
import type { StoreRecord } from "@tollgate/core/store"
import type { RecordRow, Statements } from "./statements.ts"

export const toRecord = (key: string, [version, parent, terms, uniqueKeys, body]: RecordRow): StoreRecord => {
  const record = {
    key,
    version,
    body,
    indexTerms: JSON.parse(terms) as ReadonlyArray<string>,
    uniqueKeys: JSON.parse(uniqueKeys) as ReadonlyArray<string>
  }
  return parent === null ? record : { ...record, parent }
}

/** A row that is never missing: of a RETURNING clause, or of a record in an index. */
export const requireRow = <A>(value: A | undefined): A => {
  if (value === undefined) throw new Error("the database returned no row")
  return value
}

/** Inserts a record that does not exist, its index terms and its unique keys. */
export const insertRecord = (sql: Statements, partition: number, record: StoreRecord): void => {
  const { key, version, parent = null, indexTerms, uniqueKeys, body } = record
  const columns = [version, parent, JSON.stringify(indexTerms), JSON.stringify(uniqueKeys), body] as const
  const id = Number(sql.insertRecord.run(partition, key, ...columns).lastInsertRowid)
  for (const term of indexTerms) sql.insertPosting.run(requireRow(sql.incrementTerm.get(partition, term)), id)
  for (const uniqueKey of uniqueKeys) sql.insertUniqueKey.run(partition, uniqueKey, id)
}
