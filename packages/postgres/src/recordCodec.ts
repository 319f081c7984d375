/**
 * Encodes records for the columns `header` and `body`. The header is what the store reads besides version and body, as
 * JSON, so that the tables can have the names in another form.
 */
import type { SearchMatch, StoreRecord } from "@tollgate/store"
import type { Row } from "./Database.ts"
import { toIndexName } from "./indexName.ts"

type Header = [
  key: string,
  parent: string | null,
  indexTerms: ReadonlyArray<string>,
  uniqueKeys: ReadonlyArray<string>,
  isBodyJson?: boolean,
  searchTerms?: ReadonlyArray<string>
]

const encodeColumns = (record: Omit<StoreRecord, "version">): { readonly header: string; readonly body: string } => {
  const { key, parent = null, indexTerms, uniqueKeys, searchTerms, body } = record
  // PostgreSQL cannot store a NUL.
  const isBodyJson = body.includes("\0")
  const header: Header = [key, parent, indexTerms, uniqueKeys]
  if (searchTerms !== undefined) header.push(isBodyJson, searchTerms)
  else if (isBodyJson) header.push(true)
  return { header: JSON.stringify(header), body: isBodyJson ? JSON.stringify(body) : body }
}

/** A record as the SQL functions and queries take it: its names in the form of the tables, its header and its body. */
export interface EncodedRecord {
  readonly parent: string | undefined
  readonly terms: ReadonlyArray<string>
  readonly uniqueKeys: ReadonlyArray<string>
  readonly searchTerms: ReadonlyArray<string>
  readonly header: string
  readonly body: string
}

export const encodeRecord = (record: Omit<StoreRecord, "version">): EncodedRecord => ({
  parent: record.parent === undefined ? undefined : toIndexName(record.parent),
  terms: record.indexTerms.map(toIndexName),
  uniqueKeys: record.uniqueKeys.map(toIndexName),
  searchTerms: record.searchTerms ?? [],
  ...encodeColumns(record)
})

export const decodeRecord = (version: string, header: string, body: string): StoreRecord => {
  const [key, parent, indexTerms, uniqueKeys, isBodyJson, searchTerms] = JSON.parse(header) as Header
  const record: StoreRecord = {
    key,
    version: Number(version),
    body: isBodyJson === true ? (JSON.parse(body) as string) : body,
    indexTerms,
    uniqueKeys,
    ...(searchTerms === undefined ? {} : { searchTerms })
  }
  return parent === null ? record : { ...record, parent }
}

/** Decodes a row of a search: term, number, key, parent and header. The header is null if the others are as they were. */
export const decodeMatch = ([term, number, rowKey, rowParent, header]: Row): SearchMatch => {
  const [key, parent] = header == null ? [rowKey ?? "", rowParent] : (JSON.parse(header) as Header)
  const match = { term: term ?? "", key, place: Number(number) }
  return parent == null ? match : { ...match, parent }
}
