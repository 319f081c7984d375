/**
 * Encodes records for Redis as `<version> <created> <length of the index> <index><body>`, where the index is a JSON
 * array of index terms, unique keys and parent. Scripts parse only the leading numbers and never the body.
 */
import type { StoreRecord } from "@tollgate/core/store"

type Index = [indexTerms: ReadonlyArray<string>, uniqueKeys: ReadonlyArray<string>, parent?: string]

/** Encodes everything after version and creation sequence, which the script prepends. */
export const encodeRecordBody = (record: Omit<StoreRecord, "key" | "version">): string => {
  const index: Index = [record.indexTerms, record.uniqueKeys]
  if (record.parent !== undefined) index.push(record.parent)
  const json = JSON.stringify(index)
  return `${json.length} ${json}${record.body}`
}

export const decodeRecord = (key: string, encoded: string): StoreRecord => {
  const first = encoded.indexOf(" ")
  const second = encoded.indexOf(" ", first + 1)
  const third = encoded.indexOf(" ", second + 1)
  const end = third + 1 + Number(encoded.slice(second + 1, third))
  const [indexTerms, uniqueKeys, parent] = JSON.parse(encoded.slice(third + 1, end)) as Index
  const record = { key, version: Number(encoded.slice(0, first)), body: encoded.slice(end), indexTerms, uniqueKeys }
  return parent === undefined ? record : { ...record, parent }
}

/** The creation sequence of a record. */
export const decodeCreated = (encoded: string): number => {
  const first = encoded.indexOf(" ")
  return Number(encoded.slice(first + 1, encoded.indexOf(" ", first + 1)))
}

/** Encodes the owner of a unique key as `<bytes in its key>:<its key>`, then `^<key of its parent>` if it has one. */
export const encodeUniqueKeyOwner = (key: string, parent: string | undefined): string =>
  `${Buffer.byteLength(key)}:${key}${parent === undefined ? "" : `^${parent}`}`
