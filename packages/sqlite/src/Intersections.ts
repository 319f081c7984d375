/**
 * The records that have several index terms. SQLite reads the postings of all terms side by side: at once if there are few,
 * otherwise in pieces of the smallest term. Totals are remembered for the next pages of an unchanged list.
 */
import { BoundedMap, type Piece, postingsInPiece, type StoreQuery } from "@tollgate/store"
import type { Database } from "better-sqlite3"
import type { Statements, TermRow } from "./statements.ts"

/** Looking up a record in the postings of another term takes about as long as merging this many postings. */
const postingsPerLookup = 6

/** The parameters of both are each term, and the ids between which its records are: after the first, to the second. */
interface Intersection {
  readonly ids: (parameters: ReadonlyArray<number>, limit?: number, offset?: number) => ReadonlyArray<number>
  readonly count: (parameters: ReadonlyArray<number>) => number
}

/** A LIMIT that is none. */
const noLimit = -1

const isBetween = (record: string, descending: boolean): string =>
  descending ? `${record} < ? AND ${record} >= ?` : `${record} > ? AND ${record} <= ?`

/** INTERSECT with ORDER BY merges the sorted postings. */
const mergePostings = (terms: number, descending: boolean): string =>
  Array.from(
    { length: terms },
    () => `SELECT record FROM tollgate_postings WHERE term = ? AND ${isBetween("record", descending)}`
  ).join(" INTERSECT ")

/** CROSS JOIN keeps the order of the tables: SQLite reads the postings of the first term, and looks up the others. */
const lookUpPostings = (terms: number, descending: boolean): string => {
  const tables = Array.from({ length: terms }, (_, index) => `p${index}`)
  const from = tables.map((table) => `tollgate_postings ${table}`).join(" CROSS JOIN ")
  const where = tables.map(
    (table) => `${table}.term = ? AND ${isBetween("p0.record", descending)} AND ${table}.record = p0.record`
  )
  return `SELECT p0.record FROM ${from} WHERE ${where.join(" AND ")}`
}

/** Before all ids, and after all, in ascending order. */
const lowest = 0
const highest = Number.MAX_SAFE_INTEGER

/** The id after which a query begins: the given one, or one before all. */
export const getStart = (after: number | undefined, descending: boolean): number =>
  after ?? (descending ? highest : lowest)

export class Intersections {
  readonly #database: Database
  readonly #sql: Statements
  readonly #prepared = new Map<string, Intersection>()

  /**
   * Totals by the state that they were counted in: the sequence number of the partition, the newest record id, and the
   * terms with their own totals. A put advances the sequence number, a copied record has a new id, and a delete lowers
   * the totals of the terms. So while the state is the same, so is the total, and no later state is the same as an earlier.
   */
  readonly #totals = new BoundedMap<string, number>(1_000)

  constructor(database: Database, sql: Statements) {
    this.#database = database
    this.#sql = sql
  }

  /** The records of a page that have the terms, and the one after it, if there is one. */
  readPage(partition: number, terms: ReadonlyArray<TermRow>, query: Omit<StoreQuery, "indexTerms">) {
    const { offset, limit, descending = false, after } = query
    const wanted = limit === 0 ? 0 : limit + 1
    const sorted = sortBySize(terms)
    const { ids } = this.#prepare(sorted, descending)
    const state = this.describeState(partition, terms)
    const known = this.getTotal(state)
    const read = (after: number | undefined, limit: number, offset: number) =>
      ids(
        sorted.flatMap(({ id }) => [id, getStart(after, descending), descending ? lowest : highest]),
        limit,
        offset
      )
    if (known !== undefined) return { ids: wanted === 0 ? [] : read(after, wanted, offset), total: known }
    const all = read(undefined, noLimit, 0)
    this.rememberTotal(state, all.length)
    const passed = after === undefined ? 0 : all.findLastIndex((id) => (descending ? id >= after : id <= after)) + 1
    return { ids: all.slice(passed + offset, passed + offset + wanted), total: all.length }
  }

  /** Reads a piece of at most `postingsInPiece`. */
  readPiece(
    terms: ReadonlyArray<TermRow>,
    descending: boolean,
    after: number | undefined,
    skip: number,
    wanted: number
  ): Piece<number> {
    const sorted = sortBySize(terms)
    const start = getStart(after, descending)
    const size = Math.ceil(postingsInPiece / terms.length)
    const recordIds = descending ? this.#sql.newestRecordIds : this.#sql.recordIds
    const end = recordIds.get(sorted[0]?.id ?? 0, start, 1, size - 1)
    const { ids, count } = this.#prepare(sorted, descending)
    const parameters = sorted.flatMap(({ id }) => [id, start, end ?? (descending ? lowest : highest)])
    // Returning ids to JavaScript takes a quarter of the time.
    if (wanted === 0 || skip >= size) return { matches: count(parameters), items: [], end }
    const matches = ids(parameters)
    return { matches: matches.length, items: matches.slice(skip, skip + wanted), end }
  }

  describeState(partition: number, terms: ReadonlyArray<TermRow>): string {
    const totals = sortBySize(terms).map(({ id, total }) => `${id}:${total}`)
    return `${this.#sql.writeState.get(partition)} ${totals.join(" ")}`
  }

  getTotal(state: string): number | undefined {
    return this.#totals.get(state)
  }

  rememberTotal(state: string, total: number): void {
    this.#totals.set(state, total)
  }

  /** The terms are sorted by size. */
  #prepare(terms: ReadonlyArray<TermRow>, descending: boolean): Intersection {
    const smallest = terms[0]?.total ?? 0
    const postings = terms.reduce((sum, { total }) => sum + total, 0)
    const isLookup = smallest * (terms.length - 1) * postingsPerLookup < postings
    const name = `${terms.length} ${isLookup} ${descending}`
    const prepared = this.#prepared.get(name)
    if (prepared !== undefined) return prepared
    const order = descending ? "DESC" : "ASC"
    const select = `${(isLookup ? lookUpPostings : mergePostings)(terms.length, descending)} ORDER BY 1 ${order}`
    const ids = this.#database.prepare<Array<number>, number>(`${select} LIMIT ? OFFSET ?`).pluck()
    const count = this.#database.prepare<Array<number>, number>(`SELECT count(*) FROM (${select})`).pluck()
    const intersection = {
      ids: (parameters: ReadonlyArray<number>, limit = noLimit, offset = 0) => ids.all(...parameters, limit, offset),
      count: (parameters: ReadonlyArray<number>) => count.get(...parameters) ?? 0
    }
    this.#prepared.set(name, intersection)
    return intersection
  }
}

const sortBySize = (terms: ReadonlyArray<TermRow>) => terms.toSorted((left, right) => left.total - right.total)

/** Whether a query compares, or skips, so much that it must be read in pieces. */
export const isLarge = (terms: ReadonlyArray<TermRow>, offset: number): boolean => {
  if (terms.length === 1) return offset > postingsInPiece
  return Math.min(...terms.map(({ total }) => total)) * terms.length > postingsInPiece
}
