/**
 * Records as rows of the tables.
 */
import type { StoreRecord } from "@tollgate/store"
import type { RecordRow, Statements } from "./statements.ts"

/** A record without search terms has an empty text in their place. */
export const decodeSearchTerms = (encoded: string): ReadonlyArray<string> => (encoded === "" ? [] : JSON.parse(encoded))

export const toRecord = (
  key: string,
  [version, parent, terms, uniqueKeys, searchTerms, body]: RecordRow
): StoreRecord => {
  const record: StoreRecord = {
    key,
    version,
    body,
    indexTerms: JSON.parse(terms) as ReadonlyArray<string>,
    uniqueKeys: JSON.parse(uniqueKeys) as ReadonlyArray<string>,
    ...(searchTerms === "" ? {} : { searchTerms: JSON.parse(searchTerms) as ReadonlyArray<string> })
  }
  return parent === null ? record : { ...record, parent }
}

/** The columns of a record. */
export const toRow = ({
  version,
  parent,
  indexTerms,
  uniqueKeys,
  searchTerms,
  body
}: Omit<StoreRecord, "key">): RecordRow => [
  version,
  parent ?? null,
  JSON.stringify(indexTerms),
  JSON.stringify(uniqueKeys),
  searchTerms === undefined ? "" : JSON.stringify(searchTerms),
  body
]

/** A row that is never missing: of a RETURNING clause, or of a record in an index. */
export const requireRow = <A>(value: A | undefined): A => {
  if (value === undefined) throw new Error("the database returned no row")
  return value
}

/** Inserts a record that does not exist, its index terms, its search terms and its unique keys. */
export const insertRecord = (sql: Statements, partition: number, record: StoreRecord): void => {
  const { key, indexTerms, uniqueKeys, searchTerms = [] } = record
  const id = Number(sql.insertRecord.run(partition, key, ...toRow(record)).lastInsertRowid)
  for (const term of indexTerms) sql.insertPosting.run(requireRow(sql.incrementTerm.get(partition, term)), id)
  for (const term of searchTerms) sql.insertSearchTerm.run(partition, term, id)
  for (const uniqueKey of uniqueKeys) sql.insertUniqueKey.run(partition, uniqueKey, id)
}
