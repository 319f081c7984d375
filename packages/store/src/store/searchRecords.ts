/**
 * Finds the values of a collection by a text: one call reads search terms, and one reads records.
 */
import { Effect } from "effect"
import { forEachInPieces } from "../runtime/turns.ts"
import { findMatchedField, normalizeSearch, type SearchField, toSearchPrefix } from "../schema/searchText.ts"
import type { Collection, Entry } from "./Collection.ts"
import type { Partition } from "./Partition.ts"
import { type SearchMatch, Store, type StoreRecord } from "./Store.ts"
import type { RecordUnreadable } from "./StoreError.ts"
import { takePage } from "./takePage.ts"

/**
 * Search terms that one search reads of a range: twice what a list returns. If more begin with the text, it finds the first
 * of the alphabet.
 */
export const maxSearchMatches = 200

/** Items that one search of a list returns at most. */
export const maxFound = 100

/** A value, the field by which it was found, and whether that is the text, or only begins with it. */
export interface Found<A> {
  readonly value: A
  readonly matched: string
  readonly isExact: boolean
}

/** The keys of the records, each once: those that have the text itself first, then the newest. */
export const rankMatches = (
  prefixes: ReadonlyArray<string>,
  matches: ReadonlyArray<ReadonlyArray<SearchMatch>>,
  limit: number
): ReadonlyArray<string> => {
  const ranked = prefixes
    .flatMap((prefix, index) =>
      (matches[index] ?? []).map(({ term, key, place }) => ({ key, place, isExact: term === prefix }))
    )
    .toSorted((left, right) => Number(right.isExact) - Number(left.isExact) || right.place - left.place)
  return [...new Set(ranked.map(({ key }) => key))].slice(0, limit)
}

/** Decodes records in their order, in pieces. One that was changed since its terms were read may have others. */
export const decodeFound = <A>(
  collection: Collection<A>,
  records: ReadonlyArray<StoreRecord | undefined>,
  text: string,
  getFields: (value: A) => ReadonlyArray<SearchField>
) => {
  const toFound = ({ value }: Entry<A>): ReadonlyArray<Found<A>> => {
    const found = findMatchedField(getFields(value), text)
    return found === undefined ? [] : [{ value, matched: found.field, isExact: found.isExact }]
  }
  const page = takePage(
    records.filter((record) => record !== undefined),
    records.length
  )
  return Effect.map(
    forEachInPieces(page, (record) => Effect.map(collection.decode(record), toFound)),
    (found): ReadonlyArray<Found<A>> => found.flat()
  )
}

/** What a search looks for in a collection, and what it makes of it. */
export interface SearchPart<B> {
  readonly prefix: string
  readonly decode: (
    records: ReadonlyArray<StoreRecord | undefined>
  ) => Effect.Effect<ReadonlyArray<B>, RecordUnreadable>
}

export const makeSearchPart = <A, B>(
  collection: Collection<A>,
  options: {
    readonly text: string
    readonly scope?: string
    readonly getFields: (value: A) => ReadonlyArray<SearchField>
    readonly toItem: (found: Found<A>) => B
  }
): SearchPart<B> => {
  const text = normalizeSearch(options.text)
  return {
    prefix: collection.searchTerm(toSearchPrefix(text, options)),
    decode: (records) =>
      Effect.map(decodeFound(collection, records, text, options.getFields), (found) => found.map(options.toItem))
  }
}

/**
 * Searches collections of a partition together, with one store call for the terms, and one for the records if there are
 * any. Of each those of which something is the text come first, then the newest.
 */
export const searchParts = Effect.fnUntraced(function* <B>(
  partition: Partition,
  limit: number,
  parts: ReadonlyArray<SearchPart<B>>
) {
  const store = yield* Store
  const found = yield* store.search(
    partition,
    parts.map(({ prefix }) => ({ prefix, limit: maxSearchMatches }))
  )
  const keys = parts.map(({ prefix }, index) => rankMatches([prefix], [found[index] ?? []], limit))
  const wanted = keys.flat()
  const records = wanted.length === 0 ? [] : yield* store.get(partition, wanted)
  const items: Array<B> = []
  let read = 0
  for (const [index, { decode }] of parts.entries()) {
    const end = read + (keys[index]?.length ?? 0)
    items.push(...(yield* decode(records.slice(read, end))))
    read = end
  }
  return items
})

/** The values of one collection whose terms begin with a text. */
export const searchRecords = <A>(
  collection: Collection<A>,
  partition: Partition,
  { limit, ...options }: Omit<Parameters<typeof makeSearchPart<A, Found<A>>>[1], "toItem"> & { readonly limit: number }
) => searchParts(partition, limit, [makeSearchPart(collection, { ...options, toItem: (found: Found<A>) => found })])
