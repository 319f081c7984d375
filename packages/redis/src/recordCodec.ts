/**
 * Encodes records for Redis as `<version> <created> <length of the index> <index><body>`, where the index is a JSON
 * array of index terms, unique keys, parent and search terms. Scripts parse only the leading numbers and never the body.
 */
import type { SearchMatch, StoreRecord } from "@tollgate/store"
import { placeDigits } from "./scripts.ts"

type Index = [
  indexTerms: ReadonlyArray<string>,
  uniqueKeys: ReadonlyArray<string>,
  parent?: string | null,
  searchTerms?: ReadonlyArray<string>
]

/** Encodes everything after version and creation sequence, which the script prepends. */
export const encodeRecordBody = (record: Omit<StoreRecord, "key" | "version">): string => {
  const { indexTerms, uniqueKeys, parent, searchTerms } = record
  const index: Index = [indexTerms, uniqueKeys]
  if (searchTerms !== undefined) index.push(parent ?? null, searchTerms)
  else if (parent !== undefined) index.push(parent)
  const json = JSON.stringify(index)
  return `${json.length} ${json}${record.body}`
}

export const decodeRecord = (key: string, encoded: string): StoreRecord => {
  const first = encoded.indexOf(" ")
  const second = encoded.indexOf(" ", first + 1)
  const third = encoded.indexOf(" ", second + 1)
  const end = third + 1 + Number(encoded.slice(second + 1, third))
  const [indexTerms, uniqueKeys, parent, searchTerms] = JSON.parse(encoded.slice(third + 1, end)) as Index
  const base = { key, version: Number(encoded.slice(0, first)), body: encoded.slice(end), indexTerms, uniqueKeys }
  const record = searchTerms === undefined ? base : { ...base, searchTerms }
  return parent == null ? record : { ...record, parent }
}

/** The creation sequence of a record. */
export const decodeCreated = (encoded: string): number => {
  const first = encoded.indexOf(" ")
  return Number(encoded.slice(first + 1, encoded.indexOf(" ", first + 1)))
}

/** Encodes the owner of a unique key or a search term as `<bytes in its key>:<its key>`, then `^<key of its parent>` if it has one. */
export const encodeOwner = (key: string, parent: string | undefined): string =>
  `${Buffer.byteLength(key)}:${key}${parent === undefined ? "" : `^${parent}`}`

/** Decodes a member of the sorted set of search terms. */
export const decodeMatch = (member: string): SearchMatch => {
  const end = member.indexOf("\0")
  const ownerStart = end + 1 + placeDigits
  const colon = member.indexOf(":", ownerStart)
  const owner = Buffer.from(member.slice(colon + 1))
  const keyLength = Number(member.slice(ownerStart, colon))
  const match = {
    term: member.slice(0, end),
    key: owner.toString("utf8", 0, keyLength),
    place: Number.MAX_SAFE_INTEGER - Number(member.slice(end + 1, ownerStart))
  }
  return owner.length === keyLength ? match : { ...match, parent: owner.toString("utf8", keyLength + 1) }
}
