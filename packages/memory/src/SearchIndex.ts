/**
 * The search terms of a partition, sorted by the code points of the terms, those of one term newest first. The entries are
 * in chunks, so that adding one among a million moves at most a thousand.
 */
import { compareCodePoints, getSearchRange, type SearchMatch, type SearchQuery } from "@tollgate/store"
import type { Slot } from "./Postings.ts"

interface SearchEntry {
  readonly term: string
  readonly slot: Slot
}

const maxChunkSize = 1_000

const compare = (left: SearchEntry, right: SearchEntry): number =>
  compareCodePoints(left.term, right.term) || right.slot.created - left.slot.created

const toMatch = ({ term, slot: { created: place, record } }: SearchEntry): SearchMatch => {
  const { key, parent } = record
  return parent === undefined ? { term, key, place } : { term, key, parent, place }
}

/** The index of the first item that is not before a place. */
const findFirst = <A>(items: ReadonlyArray<A>, isBefore: (item: A) => boolean): number => {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(items[middle] as A)) low = middle + 1
    else high = middle
  }
  return low
}

export class SearchIndex {
  /** None is empty. */
  #chunks: Array<Array<SearchEntry>> = []

  add(entry: SearchEntry): void {
    const isBefore = (other: SearchEntry) => compare(other, entry) < 0
    const position = Math.min(this.#findChunk(isBefore), Math.max(0, this.#chunks.length - 1))
    const chunk = this.#chunks[position] ?? []
    chunk.splice(findFirst(chunk, isBefore), 0, entry)
    if (chunk.length > maxChunkSize)
      this.#chunks.splice(position, 1, chunk.slice(0, maxChunkSize / 2), chunk.slice(maxChunkSize / 2))
    else this.#chunks[position] = chunk
  }

  remove(entry: SearchEntry): void {
    const isBefore = (other: SearchEntry) => compare(other, entry) < 0
    const position = this.#findChunk(isBefore)
    const chunk = this.#chunks[position]
    if (chunk === undefined) return
    const index = findFirst(chunk, isBefore)
    const found = chunk[index]
    if (found === undefined || compare(found, entry) !== 0) return
    chunk.splice(index, 1)
    if (chunk.length === 0) this.#chunks.splice(position, 1)
  }

  find(query: SearchQuery): ReadonlyArray<SearchMatch> {
    const { from } = getSearchRange(query)
    const isBefore = ({ term }: SearchEntry) => compareCodePoints(term, from) < 0
    const matches: Array<SearchMatch> = []
    for (let position = this.#findChunk(isBefore), isFirst = true; position < this.#chunks.length; position++) {
      const chunk = this.#chunks[position] ?? []
      for (let index = isFirst ? findFirst(chunk, isBefore) : 0; index < chunk.length; index++) {
        const entry = chunk[index] as SearchEntry
        if (matches.length >= query.limit || !entry.term.startsWith(query.prefix)) return matches
        matches.push(toMatch(entry))
      }
      isFirst = false
    }
    return matches
  }

  clear(): void {
    this.#chunks = []
  }

  /** The position of the first chunk whose last entry is not before a place. */
  #findChunk(isBefore: (entry: SearchEntry) => boolean): number {
    return findFirst(this.#chunks, (chunk) => isBefore(chunk.at(-1) as SearchEntry))
  }
}
