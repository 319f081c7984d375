/**
 * How records stand in Redis. Scripts read no more of them than the numbers in front, so bodies pass through
 * untouched: `<version> <created> <length of the index> <index><body>`, the index being terms, claims and parent.
 */
import type { StoreRecord } from "@tollgate/core"

type Index = [terms: ReadonlyArray<string>, claims: ReadonlyArray<string>, parent?: string]

/** Everything after the numbers, which the script puts in front. */
export const encodeRecordBody = (record: Omit<StoreRecord, "key" | "version">): string => {
  const index: Index = [record.indexTerms, record.uniqueKeys]
  if (record.parent !== undefined) index.push(record.parent)
  const text = JSON.stringify(index)
  return `${text.length} ${text}${record.body}`
}

export const decodeRecord = (key: string, packed: string): StoreRecord => {
  const first = packed.indexOf(" ")
  const second = packed.indexOf(" ", first + 1)
  const third = packed.indexOf(" ", second + 1)
  const end = third + 1 + Number(packed.slice(second + 1, third))
  const [indexTerms, uniqueKeys, parent] = JSON.parse(packed.slice(third + 1, end)) as Index
  const record = { key, version: Number(packed.slice(0, first)), body: packed.slice(end), indexTerms, uniqueKeys }
  return parent === undefined ? record : { ...record, parent }
}

/** A claim's holder: the bytes in its key, its key, and its parent's key behind a mark. */
export const encodeKeyOwner = (key: string, parent: string | undefined): string =>
  `${Buffer.byteLength(key)}:${key}${parent === undefined ? "" : `^${parent}`}`
