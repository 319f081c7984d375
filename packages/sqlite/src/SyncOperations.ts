/**
 * The synchronous store operations on the tables. The caller of `apply` and `clearBatch` begins the transaction. Each
 * read returns one consistent snapshot.
 */
import {
  BoundedMap,
  type Change,
  type CommitResult,
  getSearchRange,
  type IdempotencyRecord,
  type MicrosecondClock,
  type Partition,
  type Piece,
  Preconditions,
  type RecordWithParent,
  type SearchMatch,
  type SearchQuery,
  StoreConflict,
  type StorePage,
  type StoreQuery,
  type StoreRecord,
  takePage,
  toReplayedResult
} from "@tollgate/store"
import type { Database } from "better-sqlite3"
import type { Clock } from "effect"
import { ConnectionCache } from "./ConnectionCache.ts"
import { getStart, Intersections, isLarge } from "./Intersections.ts"
import { decodeSearchTerms, insertRecord, requireRow, toRecord, toRow } from "./recordRows.ts"
import { decodeReplay, encodeReplay } from "./replays.ts"
import type { RecordWithParentRow, SearchRow, Statements, TermRow } from "./statements.ts"

type Names = ReadonlyArray<string>

/** A list that is read in pieces. */
export interface LargeList {
  readonly knownTotal: number | undefined
  readonly readPiece: (after: number | undefined, skip: number, wanted: number) => Piece<number>
  /** Reads the records with these ids. */
  readonly toPage: (found: { readonly items: ReadonlyArray<number>; readonly total: number }) => StorePage
}

const toRecordWithParent = (row: RecordWithParentRow): RecordWithParent => {
  const [key, version, parent, terms, uniqueKeys, searchTerms, body, parentVersion, ...rest] = row
  const record = toRecord(key, [version, parent, terms, uniqueKeys, searchTerms, body])
  return parent === null || parentVersion === null
    ? { record }
    : { record, parent: toRecord(parent, [parentVersion, ...rest]) }
}

const toMatch = ([term, place, key, parent]: SearchRow): SearchMatch =>
  parent === null ? { term, key, place } : { term, key, parent, place }

/** The id of a partition that does not exist. Ids start at 1. */
const missingPartitionId = 0

const sweepIntervalMs = 1_000

const noVersions: ReadonlyMap<string, number> = new Map()

export class SyncOperations {
  readonly #database: Database
  readonly #sql: Statements
  /** The id of a partition never changes. Only ids that are committed are cached, never those of an open transaction. */
  readonly #partitions = new BoundedMap<Partition.Partition, number>(10_000)
  #sweptAt = Number.NEGATIVE_INFINITY
  readonly #microseconds: MicrosecondClock
  readonly #intersections: Intersections

  /** The versions that commits check, and the counters that they change. */
  readonly cache: ConnectionCache

  constructor(database: Database, sql: Statements, microseconds: MicrosecondClock) {
    this.#database = database
    this.#microseconds = microseconds
    this.#sql = sql
    this.#intersections = new Intersections(database, sql)
    this.cache = ConnectionCache.forDatabase(database, sql)
  }

  get(partition: Partition.Partition, keys: Names): ReadonlyArray<StoreRecord | undefined> {
    const id = this.#findPartitionId(partition)
    return this.#readSnapshot(keys, (key) => {
      const row = this.#sql.record.get(id, key)
      return row === undefined ? undefined : toRecord(key, row)
    })
  }

  getByUniqueKey(partition: Partition.Partition, uniqueKeys: Names): ReadonlyArray<RecordWithParent | undefined> {
    const id = this.#findPartitionId(partition)
    return this.#readSnapshot(uniqueKeys, (uniqueKey) => {
      const row = this.#sql.recordByUniqueKey.get(id, uniqueKey)
      return row === undefined ? undefined : toRecordWithParent(row)
    })
  }

  /** The pages in one snapshot, apart from those that must be read in pieces. */
  list(partition: Partition.Partition, queries: ReadonlyArray<StoreQuery>): ReadonlyArray<StorePage | LargeList> {
    const id = this.#findPartitionId(partition)
    return this.#database.transaction(() => queries.map((query) => this.#readPage(id, query)))()
  }

  /** The matches of all queries in one snapshot. */
  search(
    partition: Partition.Partition,
    queries: ReadonlyArray<SearchQuery>
  ): ReadonlyArray<ReadonlyArray<SearchMatch>> {
    const id = this.#findPartitionId(partition)
    return this.#readSnapshot(queries, (query) => {
      const { from, end } = getSearchRange(query)
      const rows =
        end === undefined
          ? this.#sql.searchFrom.all(id, from, query.limit)
          : this.#sql.searchBetween.all(id, from, end, query.limit)
      return rows.map(toMatch)
    })
  }

  readCounters(partition: Partition.Partition, names: Names, clock: Clock.Clock): ReadonlyArray<number> {
    const now = this.#microseconds.readMillis(clock)
    const id = this.#findPartitionId(partition)
    return this.#readSnapshot(names, (name) => this.#sql.counter.get(id, name, now) ?? 0)
  }

  /**
   * Checks the preconditions of a commit and writes it, or returns the conflict. It reads the clock itself, because the
   * transaction may begin long after the commit was submitted, when another process holds the lock.
   */
  apply(
    partition: Partition.Partition,
    changes: ReadonlyArray<Change>,
    idempotency: IdempotencyRecord | undefined,
    clock: Clock.Clock
  ): CommitResult | StoreConflict {
    const now = this.#microseconds.readMillis(clock)
    const sql = this.#sql
    const { versions, counters } = this.cache
    const existingId = this.#partitions.get(partition) ?? sql.partition.get(partition) ?? missingPartitionId
    const replay = idempotency === undefined ? undefined : sql.replay.get(existingId, idempotency.id, now)
    if (replay !== undefined) return toReplayedResult(decodeReplay(replay))

    const updates = Preconditions.evaluate(changes, {
      version: (key) => versions.get(existingId, key),
      owner: (uniqueKey) => sql.uniqueKeyOwner.get(existingId, uniqueKey),
      total: (term) => sql.term.get(existingId, term)?.total ?? 0,
      counter: (name) => counters.get(existingId, name, now),
      time: { clock, microseconds: this.#microseconds }
    })
    if (updates instanceof StoreConflict) return updates
    // The clock may have caught up with another process.
    const writtenAt = this.#microseconds.readMillis(clock)
    const writesRecords = Preconditions.writesRecords(changes)
    // A commit that only checks must not write the partition either, which would cost a flush.
    if (!writesRecords && updates.length === 0 && idempotency === undefined) {
      return { versions: new Map(), totals: new Map() }
    }

    const id = existingId === missingPartitionId ? requireRow(sql.insertPartition.get(partition)) : existingId
    const totals = new Map<string, number>()
    for (const { counter, value, total, ttl, isRemoved } of updates) {
      if (isRemoved) counters.remove(id, counter)
      else counters.set(id, counter, value, ttl, writtenAt)
      totals.set(counter, total)
    }
    const result = { versions: writesRecords ? this.#writeRecords(id, changes) : noVersions, totals }
    if (idempotency !== undefined) {
      const { fingerprint } = idempotency
      const numbers = { versions: [...result.versions], totals: [...result.totals] }
      const replay = encodeReplay({ fingerprint, result: idempotency.result, ...numbers })
      sql.insertReplay.run(id, idempotency.id, replay, writtenAt + idempotency.ttl)
    }
    const isSweepDue = Math.abs(writtenAt - this.#sweptAt) >= sweepIntervalMs
    if (isSweepDue && (idempotency !== undefined || totals.size > 0)) this.#sweep(writtenAt)
    return result
  }

  /** Removes one batch of records, counters and idempotency records. Returns whether there were any. */
  clearBatch(partition: Partition.Partition, count: number): boolean {
    this.cache.counters.flush()
    const id = this.#sql.partition.get(partition) ?? missingPartitionId
    const keys = this.#sql.keys.all(id, count)
    for (const key of keys) this.#removeUniqueKeys(id, key)
    for (const key of keys) this.#delete(id, key)
    const counters = this.#sql.clearCounters.run(id, id, count).changes
    this.cache.counters.reset()
    const replays = this.#sql.clearReplays.run(id, id, count).changes
    return keys.length + counters + replays > 0
  }

  /** Deletes a limited number of expired counters and idempotency records. */
  #sweep(now: number): void {
    this.#sweptAt = now
    this.cache.counters.flush()
    // A store with another clock may not see them as expired yet.
    if (this.#sql.deleteExpiredCounters.run(now).changes > 0) this.cache.counters.reset()
    this.#sql.deleteExpiredReplays.run(now)
  }

  #findPartitionId(partition: Partition.Partition): number {
    const cached = this.#partitions.get(partition)
    if (cached !== undefined) return cached
    const id = this.#sql.partition.get(partition)
    if (id === undefined) return missingPartitionId
    this.#partitions.set(partition, id)
    return id
  }

  /** A single statement sees one snapshot. Several need a transaction. */
  #readSnapshot<N, A>(names: ReadonlyArray<N>, read: (name: N) => A): ReadonlyArray<A> {
    if (names.length === 1) return names.map(read)
    return this.#database.transaction(() => names.map(read))()
  }

  #readPage(partition: number, query: StoreQuery): StorePage | LargeList {
    const { indexTerms: terms, offset, limit, descending = false, after } = query
    const termRows = terms.map((term) => this.#sql.term.get(partition, term)).filter((term) => term !== undefined)
    const [first] = termRows
    if (first === undefined || termRows.length < terms.length) return { records: [], total: 0 }
    if (isLarge(termRows, offset)) return this.#toLargeList(partition, termRows, query)
    if (termRows.length > 1) {
      const { ids, total } = this.#intersections.readPage(partition, termRows, query)
      return this.#toPage(ids, total, limit)
    }
    const recordIds = descending ? this.#sql.newestRecordIds : this.#sql.recordIds
    // One more than the page has, which tells whether there are more.
    const ids = limit === 0 ? [] : recordIds.all(first.id, getStart(after, descending), limit + 1, offset)
    return this.#toPage(ids, first.total, limit)
  }

  #toLargeList(partition: number, terms: ReadonlyArray<TermRow>, { descending = false, limit }: StoreQuery): LargeList {
    const intersections = this.#intersections
    const state = intersections.describeState(partition, terms)
    return {
      knownTotal: terms.length === 1 ? terms[0]?.total : intersections.getTotal(state),
      readPiece: (after, skip, wanted) => intersections.readPiece(terms, descending, after, skip, wanted),
      toPage: ({ items, total }) => {
        intersections.rememberTotal(state, total)
        return this.#toPage(items, total, limit)
      }
    }
  }

  #toPage(ids: ReadonlyArray<number>, total: number, limit: number): StorePage {
    let last: number | undefined
    const readRecords = function* (sql: Statements) {
      for (const id of ids) {
        const row = sql.recordById.get(id)
        // A record that was found in an earlier piece may be gone.
        if (row === undefined) continue
        const [key, ...rest] = row
        last = id
        yield toRecord(key, rest)
      }
    }
    const records = takePage(readRecords(this.#sql), limit)
    return last === undefined || last === ids.at(-1) ? { records, total } : { records, total, next: last }
  }

  /** Returns the new version of each record. */
  #writeRecords(partition: number, changes: ReadonlyArray<Change>): ReadonlyMap<string, number> {
    const sql = this.#sql
    const versions = new Map<string, number>()
    const puts = changes.reduce((count, { _tag }) => count + (_tag === "Put" ? 1 : 0), 0)
    let version = puts === 0 ? 0 : requireRow(sql.advanceSequence.get(puts, partition)) - puts
    // Remove old unique keys before adding new ones: one commit may move a unique key from one record to another.
    for (const change of changes) {
      if (change._tag === "Delete" || (change._tag === "Put" && change.expect > 0))
        this.#removeUniqueKeys(partition, change.key)
    }
    for (const change of changes) {
      if (change._tag === "Put") {
        this.#put(partition, change, ++version)
        versions.set(change.key, version)
      } else if (change._tag === "Delete") this.#delete(partition, change.key)
    }
    return versions
  }

  #put(partition: number, change: Change & { readonly _tag: "Put" }, version: number): void {
    const { key, indexTerms: terms, uniqueKeys, searchTerms = [] } = change
    const sql = this.#sql
    this.cache.versions.invalidate(partition, key)
    const existing = change.expect === 0 ? undefined : sql.recordIndex.get(partition, key)
    if (existing === undefined) {
      insertRecord(sql, partition, { ...change, version })
      return
    }
    const { id } = existing
    const previousTerms: Names = JSON.parse(existing.terms)
    const previousSearchTerms = decodeSearchTerms(existing.search)
    sql.updateRecord.run(...toRow({ ...change, version }), id)
    for (const term of previousTerms) if (!terms.includes(term)) this.#removeFromIndex(partition, term, id)
    for (const term of terms)
      if (!previousTerms.includes(term)) sql.insertPosting.run(requireRow(sql.incrementTerm.get(partition, term)), id)
    for (const term of previousSearchTerms)
      if (!searchTerms.includes(term)) sql.deleteSearchTerm.run(partition, term, id)
    for (const term of searchTerms)
      if (!previousSearchTerms.includes(term)) sql.insertSearchTerm.run(partition, term, id)
    for (const uniqueKey of uniqueKeys) sql.insertUniqueKey.run(partition, uniqueKey, id)
  }

  #delete(partition: number, key: string): void {
    this.cache.versions.invalidate(partition, key)
    const existing = this.#sql.recordIndex.get(partition, key)
    if (existing === undefined) return
    for (const term of JSON.parse(existing.terms) as Names) this.#removeFromIndex(partition, term, existing.id)
    for (const term of decodeSearchTerms(existing.search)) this.#sql.deleteSearchTerm.run(partition, term, existing.id)
    this.#sql.deleteRecord.run(existing.id)
  }

  #removeUniqueKeys(partition: number, key: string): void {
    const existing = this.#sql.recordIndex.get(partition, key)
    for (const uniqueKey of JSON.parse(existing?.claims ?? "[]") as Names) {
      this.#sql.deleteUniqueKey.run(partition, uniqueKey)
    }
  }

  #removeFromIndex(partition: number, term: string, record: number): void {
    const termRow = this.#sql.decrementTerm.get(partition, term)
    if (termRow === undefined) return
    this.#sql.deletePosting.run(termRow.id, record)
    if (termRow.total === 0) this.#sql.deleteTerm.run(termRow.id)
  }
}
