/**
 * Pages of the records that have several index terms. SQLite reads the postings once: up to the end of the page, and then
 * only to count the rest, because returning all ids to JavaScript would take a quarter of the time. The next pages of an
 * unchanged list need no counting.
 */
import { BoundedMap, type StoreQuery } from "@tollgate/core/store"
import type { Database } from "better-sqlite3"
import type { Statements, TermRow } from "./statements.ts"

/** Looking up a record in the postings of another term takes about as long as merging this many postings. */
const postingsPerLookup = 6

/** The ids of a page and of the record after it, if there is one, and the total. */
export interface Page {
  readonly ids: ReadonlyArray<number>
  readonly total: number
}

/** The parameters of all are each term and the id after which to begin, then the limit and the offset of a page. */
interface Intersection {
  readonly page: (parameters: ReadonlyArray<number>) => ReadonlyArray<number>
  readonly count: (parameters: ReadonlyArray<number>) => number
  /** Counts the records that have the first term and not the second, if merging two terms is the fastest way. */
  readonly countDifference?: (parameters: ReadonlyArray<number>) => number
}

/** INTERSECT or EXCEPT with ORDER BY merges the sorted postings. */
const mergePostings = (terms: number, after: string, operator = "INTERSECT"): string =>
  Array.from({ length: terms }, () => `SELECT record FROM tollgate_postings WHERE term = ? AND record ${after} ?`).join(
    ` ${operator} `
  )

/** CROSS JOIN keeps the order of the tables: SQLite reads the postings of the first term, and looks up the others. */
const lookUpPostings = (terms: number, after: string): string => {
  const tables = Array.from({ length: terms }, (_, index) => `p${index}`)
  const from = tables.map((table) => `tollgate_postings ${table}`).join(" CROSS JOIN ")
  const where = tables.map((table) => `${table}.term = ? AND p0.record ${after} ? AND ${table}.record = p0.record`)
  return `SELECT p0.record FROM ${from} WHERE ${where.join(" AND ")}`
}

/** The id after which a query begins: the given one, or one before all. */
export const getStart = (after: number | undefined, descending: boolean): number =>
  after ?? (descending ? Number.MAX_SAFE_INTEGER : 0)

/** The parameters of a query that begins after an id, or at the first one. */
const startAfter = (terms: ReadonlyArray<TermRow>, id: number | undefined, descending: boolean) =>
  terms.flatMap((term) => [term.id, getStart(id, descending)])

export class Intersections {
  readonly #database: Database
  readonly #sql: Statements
  readonly #prepared = new Map<string, Intersection>()

  /**
   * Totals by the state that they were counted in: the sequence number of the partition, the newest record id, and the
   * terms with their own totals. A put advances the sequence number, a copied record has a new id, and a delete lowers
   * the totals of the terms. So while the state is the same, so is the total.
   */
  readonly #totals = new BoundedMap<string, number>(1_000)

  constructor(database: Database, sql: Statements) {
    this.#database = database
    this.#sql = sql
  }

  read(partition: number, terms: ReadonlyArray<TermRow>, query: Omit<StoreQuery, "indexTerms">): Page {
    const { offset, descending = false, after } = query
    const limit = query.limit === 0 ? 0 : query.limit + 1
    const sorted = terms.toSorted((left, right) => left.total - right.total)
    const state = `${this.#sql.writeState.get(partition)} ${sorted.map(({ id, total }) => `${id}:${total}`).join(" ")}`
    const known = this.#totals.get(state)
    const page =
      after !== undefined
        ? this.#readAfter(sorted, known, after, offset, limit, descending)
        : known === undefined
          ? this.#readAndCount(sorted, offset, limit, descending)
          : { ids: this.#readNear(sorted, known, offset, limit, descending), total: known }
    this.#totals.set(state, page.total)
    return page
  }

  #readAfter(
    terms: ReadonlyArray<TermRow>,
    total: number | undefined,
    after: number,
    offset: number,
    limit: number,
    descending: boolean
  ): Page {
    const { page, count } = this.#prepare(terms, descending)
    return {
      ids: limit === 0 ? [] : page([...startAfter(terms, after, descending), limit, offset]),
      total: total ?? count(startAfter(terms, undefined, descending))
    }
  }

  #readAndCount(terms: ReadonlyArray<TermRow>, offset: number, limit: number, descending: boolean): Page {
    const { page, count } = this.#prepare(terms, descending)
    const start = startAfter(terms, undefined, descending)
    const ids = limit === 0 || offset >= (terms[0]?.total ?? 0) ? [] : page([...start, limit, offset])
    const last = ids.at(-1)
    if (last === undefined) return { ids, total: count(start) }
    const rest = ids.length < limit ? 0 : this.#countRest(terms, offset + ids.length, last, descending)
    return { ids, total: offset + ids.length + rest }
  }

  /**
   * Counts the matches after an id, given the number of matches up to it. Each row that a merge returns costs extra. So if
   * most records of the smaller term match so far, this counts the others.
   */
  #countRest(terms: ReadonlyArray<TermRow>, matches: number, last: number, descending: boolean): number {
    const { count, countDifference } = this.#prepare(terms, descending)
    const [smallest] = terms
    const start = startAfter(terms, last, descending)
    if (countDifference === undefined || smallest === undefined || matches * 2 > smallest.total) return count(start)
    const read = this.#sql[descending ? "countRecordsFrom" : "countRecordsTo"].get(smallest.id, last) ?? 0
    return matches * 2 > read ? smallest.total - read - countDifference(start) : count(start)
  }

  /** Reads from the nearer end, given the total. */
  #readNear(
    terms: ReadonlyArray<TermRow>,
    total: number,
    offset: number,
    limit: number,
    descending: boolean
  ): ReadonlyArray<number> {
    const length = Math.min(limit, total - offset)
    if (length <= 0) return []
    const after = total - offset - length
    const isReversed = after < offset
    const isDescending = descending !== isReversed
    const { page } = this.#prepare(terms, isDescending)
    const start = startAfter(terms, undefined, isDescending)
    const ids = page([...start, length, isReversed ? after : offset])
    return isReversed ? ids.toReversed() : ids
  }

  #prepare(terms: ReadonlyArray<TermRow>, descending: boolean): Intersection {
    const smallest = terms[0]?.total ?? 0
    const postings = terms.reduce((sum, { total }) => sum + total, 0)
    const isLookup = smallest * (terms.length - 1) * postingsPerLookup < postings
    const name = `${terms.length} ${isLookup} ${descending}`
    const prepared = this.#prepared.get(name)
    if (prepared !== undefined) return prepared
    const [after, order] = descending ? ["<", "DESC"] : [">", "ASC"]
    const select = `${(isLookup ? lookUpPostings : mergePostings)(terms.length, after)} ORDER BY 1 ${order}`
    const page = this.#database.prepare<Array<number>, number>(`${select} LIMIT ? OFFSET ?`).pluck()
    const count = this.#database.prepare<Array<number>, number>(`SELECT count(*) FROM (${select})`).pluck()
    const intersection = {
      page: (parameters: ReadonlyArray<number>) => page.all(...parameters),
      count: (parameters: ReadonlyArray<number>) => count.get(...parameters) ?? 0,
      ...(isLookup || terms.length > 2 ? {} : { countDifference: this.#prepareDifference(after, order) })
    }
    this.#prepared.set(name, intersection)
    return intersection
  }

  #prepareDifference(after: string, order: string): (parameters: ReadonlyArray<number>) => number {
    const select = `${mergePostings(2, after, "EXCEPT")} ORDER BY 1 ${order}`
    const statement = this.#database.prepare<Array<number>, number>(`SELECT count(*) FROM (${select})`).pluck()
    return (parameters) => statement.get(...parameters) ?? 0
  }
}
