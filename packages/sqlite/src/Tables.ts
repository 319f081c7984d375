/**
 * The contract's operations on the tables, synchronously. Whoever calls `apply` has begun a transaction; whoever
 * reads gets one snapshot.
 */
import {
  BoundedMap,
  type Change,
  type CommitResult,
  type IdempotencyRecord,
  type Partition,
  Preconditions,
  type RecordWithParent,
  type StoreConflict,
  type StorePage,
  type StoreQuery,
  type StoreRecord
} from "@tollgate/core"
import type { Database } from "better-sqlite3"
import { decodeReplay, encodeReplay } from "./replays.ts"
import { prepare, type RecordRow, type RecordWithParentRow, type Statements } from "./statements.ts"
import { VersionCache } from "./VersionCache.ts"

type Names = ReadonlyArray<string>

const toRecord = (key: string, [version, parent, terms, claims, body]: RecordRow): StoreRecord => {
  const record = { key, version, body, indexTerms: JSON.parse(terms) as Names, uniqueKeys: JSON.parse(claims) as Names }
  return parent === null ? record : { ...record, parent }
}

const toRecordWithParent = (row: RecordWithParentRow): RecordWithParent => {
  const [key, version, parent, terms, claims, body, parentVersion, ...rest] = row
  const record = toRecord(key, [version, parent, terms, claims, body])
  return parent === null || parentVersion === null
    ? { record }
    : { record, parent: toRecord(parent, [parentVersion, ...rest]) }
}

/** No record is in it: ids start at 1. */
const noPartition = 0

const sweepInterval = 1_000

/** A write always answers; one that did not must not be taken for a number. */
const requireRow = (answer: number | undefined): number => {
  if (answer === undefined) throw new Error("a write to the database gave no answer")
  return answer
}

export class Tables {
  readonly #database: Database
  readonly #sql: Statements
  /** Partitions keep their id for ever, so what was read outside a transaction that may yet fail stays true. */
  readonly #partitions = new BoundedMap<Partition.Partition, number>(10_000)
  #sweptAt = Number.NEGATIVE_INFINITY
  readonly #intersections = new Map<number, (ids: ReadonlyArray<number>) => ReadonlyArray<number>>()

  /** What commits rely on. Whoever begins a transaction, or rolls one back, says so. */
  readonly versions: VersionCache

  constructor(database: Database) {
    this.#database = database
    this.#sql = prepare(database)
    this.versions = VersionCache.of(database)
  }

  get(partition: Partition.Partition, keys: Names): ReadonlyArray<StoreRecord | undefined> {
    const id = this.#partition(partition)
    return this.#snapshot(keys, (key) => {
      const row = this.#sql.record.get(id, key)
      return row === undefined ? undefined : toRecord(key, row)
    })
  }

  claimed(partition: Partition.Partition, claims: Names): ReadonlyArray<RecordWithParent | undefined> {
    const id = this.#partition(partition)
    return this.#snapshot(claims, (claim) => {
      const row = this.#sql.claimed.get(id, claim)
      return row === undefined ? undefined : toRecordWithParent(row)
    })
  }

  list(partition: Partition.Partition, queries: ReadonlyArray<StoreQuery>): ReadonlyArray<StorePage> {
    const id = this.#partition(partition)
    return this.#database.transaction(() => queries.map((query) => this.#page(id, query)))()
  }

  counters(partition: Partition.Partition, names: Names, now: number): ReadonlyArray<number> {
    const id = this.#partition(partition)
    return this.#snapshot(names, (name) => this.#sql.counter.get(id, name, now) ?? 0)
  }

  /** Judges a commit and, if nothing speaks against it, writes it. */
  apply(
    partition: Partition.Partition,
    changes: ReadonlyArray<Change>,
    once: IdempotencyRecord | undefined,
    now: number
  ): CommitResult | StoreConflict {
    const sql = this.#sql
    const known = this.#partitions.get(partition) ?? sql.partition.get(partition) ?? noPartition
    const remembered = once === undefined ? undefined : sql.remembered.get(known, once.id, now)
    if (remembered !== undefined) return decodeReplay(remembered, changes)

    const counts = new Map<string, number>()
    const refusal = Preconditions.firstViolation(changes, {
      version: (key) => this.versions.get(known, key, this.#version),
      owner: (claim) => sql.holder.get(known, claim),
      total: (term) => sql.term.get(known, term)?.total ?? 0,
      counter: (name) => {
        const count = sql.counter.get(known, name, now) ?? 0
        counts.set(name, count)
        return count
      }
    })
    if (refusal !== undefined) return refusal

    const id = known === noPartition ? requireRow(sql.makePartition.get(partition)) : known
    const committed = this.#write(id, changes, counts, now)
    if (once !== undefined) {
      const replayed = { fingerprint: once.fingerprint, result: once.result }
      sql.remember.run(id, once.id, encodeReplay(committed, replayed), now + once.ttl)
    }
    if (once !== undefined || committed.totals.size > 0) this.#sweep(now)
    return committed
  }

  /** Removes some of a partition; tells whether anything was left to remove. */
  clearSome(partition: Partition.Partition, count: number): boolean {
    const id = this.#sql.partition.get(partition) ?? noPartition
    const keys = this.#sql.someKeys.all(id, count)
    for (const key of keys) this.#release(id, key)
    for (const key of keys) this.#delete(id, key)
    const counters = this.#sql.clearCounters.run(id, id, count).changes
    const once = this.#sql.clearOnce.run(id, id, count).changes
    return keys.length + counters + once > 0
  }

  /** Forgets some of what has expired, now and then. */
  #sweep(now: number): void {
    if (Math.abs(now - this.#sweptAt) < sweepInterval) return
    this.#sweptAt = now
    this.#sql.expireCounters.run(now)
    this.#sql.expireOnce.run(now)
  }

  #partition(partition: Partition.Partition): number {
    const known = this.#partitions.get(partition)
    if (known !== undefined) return known
    const id = this.#sql.partition.get(partition)
    if (id === undefined) return noPartition
    this.#partitions.set(partition, id)
    return id
  }

  /** One statement is a snapshot of itself; several are put into a transaction. */
  #snapshot<A>(names: Names, read: (name: string) => A): ReadonlyArray<A> {
    const all = () => names.map(read)
    return names.length === 1 ? all() : this.#database.transaction(all)()
  }

  #page(partition: number, { indexTerms: terms, offset, limit }: StoreQuery): StorePage {
    const found = terms.map((term) => this.#sql.term.get(partition, term)).filter((term) => term !== undefined)
    const [first] = found
    if (first === undefined || found.length < terms.length) return { records: [], total: 0 }
    if (found.length === 1) {
      return {
        records: this.#records(limit === 0 ? [] : this.#sql.page.all(first.id, limit, offset)),
        total: first.total
      }
    }
    const ids = this.#intersect(found.map(({ id }) => id))
    return { records: this.#records(ids.slice(offset, offset + limit)), total: ids.length }
  }

  /** The records that stand under all the terms. Merging sorted lists is what SQLite's INTERSECT is best at. */
  #intersect(terms: ReadonlyArray<number>): ReadonlyArray<number> {
    const known = this.#intersections.get(terms.length)
    if (known !== undefined) return known(terms)
    const one = "SELECT record FROM tollgate_postings WHERE term = ?"
    const statement = this.#database
      .prepare<Array<number>, number>(`${terms.map(() => one).join(" INTERSECT ")} ORDER BY 1`)
      .pluck()
    const intersect = (ids: ReadonlyArray<number>) => statement.all(...ids)
    this.#intersections.set(terms.length, intersect)
    return intersect(terms)
  }

  #records(ids: ReadonlyArray<number>): ReadonlyArray<StoreRecord> {
    return ids.flatMap((id) => {
      const row = this.#sql.recordById.get(id)
      if (row === undefined) return []
      const [key, ...rest] = row
      return [toRecord(key, rest)]
    })
  }

  readonly #version = (partition: number, key: string): number => this.#sql.version.get(partition, key) ?? 0

  #write(
    partition: number,
    changes: ReadonlyArray<Change>,
    counts: ReadonlyMap<string, number>,
    now: number
  ): CommitResult {
    const sql = this.#sql
    const versions = new Map<string, number>()
    const totals = new Map<string, number>()
    const puts = changes.reduce((count, { _tag }) => count + (_tag === "Put" ? 1 : 0), 0)
    let version = puts === 0 ? 0 : requireRow(sql.advance.get(puts, partition)) - puts
    // Claims are given up before any is taken: one commit may hand a claim from one record to another.
    for (const change of changes) {
      if (change._tag === "Delete" || (change._tag === "Put" && change.expect > 0)) this.#release(partition, change.key)
    }
    for (const change of changes) {
      if (change._tag === "Put") {
        this.#put(partition, change, ++version)
        versions.set(change.key, version)
      } else if (change._tag === "Delete") this.#delete(partition, change.key)
      else if (change._tag === "Add") {
        const total = (counts.get(change.counter) ?? 0) + change.by
        sql.count.run(partition, change.counter, total, now + change.ttl)
        totals.set(change.counter, total)
      }
    }
    return { versions, totals }
  }

  #put(partition: number, change: Change & { readonly _tag: "Put" }, version: number): void {
    const { key, body, indexTerms: terms, uniqueKeys: claims, parent = null } = change
    const sql = this.#sql
    this.versions.drop(partition, key)
    const existing = change.expect === 0 ? undefined : sql.indexed.get(partition, key)
    const before: Names = existing === undefined ? [] : JSON.parse(existing.terms)
    const written = [version, parent, JSON.stringify(terms), JSON.stringify(claims), body] as const
    const id = existing?.id ?? Number(sql.insert.run(partition, key, ...written).lastInsertRowid)
    if (existing !== undefined) sql.update.run(...written, id)
    for (const term of before) if (!terms.includes(term)) this.#unlist(partition, term, id)
    for (const term of terms) if (!before.includes(term)) sql.post.run(requireRow(sql.countUp.get(partition, term)), id)
    for (const claim of claims) sql.claim.run(partition, claim, id)
  }

  #delete(partition: number, key: string): void {
    this.versions.drop(partition, key)
    const existing = this.#sql.indexed.get(partition, key)
    if (existing === undefined) return
    for (const term of JSON.parse(existing.terms) as Names) this.#unlist(partition, term, existing.id)
    this.#sql.delete.run(existing.id)
  }

  #release(partition: number, key: string): void {
    const existing = this.#sql.indexed.get(partition, key)
    for (const claim of JSON.parse(existing?.claims ?? "[]") as Names) this.#sql.release.run(partition, claim)
  }

  #unlist(partition: number, term: string, record: number): void {
    const counted = this.#sql.countDown.get(partition, term)
    if (counted === undefined) return
    this.#sql.unpost.run(counted.id, record)
    if (counted.total === 0) this.#sql.dropTerm.run(counted.id)
  }
}
