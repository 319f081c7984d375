/**
 * Synchronous reads and writes of everything in the tables, in short steps. The caller of `write` begins the transaction.
 */
import { type MicrosecondClock, type Partition, StoreEntry, takeBatch } from "@tollgate/store"
import type { Clock } from "effect"
import type { ConnectionCache } from "./ConnectionCache.ts"
import { insertRecord, requireRow, toRecord } from "./recordRows.ts"
import { decodeReplay, encodeReplay } from "./replays.ts"
import type { Statements } from "./statements.ts"

/** The rows of an index that one step reads. */
const stepSize = 5_000

/** A batch, and where the next one begins: at its first name, or with the remaining ids. */
export interface Step<From> {
  readonly entries: ReadonlyArray<StoreEntry>
  readonly next: From
}

/** The smallest name after this one, in the order of SQLite. */
const successor = (name: string): string => `${name}\u0000`

/** Takes a batch from a query, and ends the query. */
const takeStep = <Row extends readonly [name: string, ...rest: ReadonlyArray<unknown>]>(
  from: string,
  rows: IterableIterator<Row>,
  toEntry: (row: Row) => StoreEntry
): Step<string> => {
  let next = from
  const toEntries = function* () {
    for (const row of rows) {
      next = successor(row[0])
      yield toEntry(row)
    }
  }
  const entries = toEntries()
  try {
    return { entries: takeBatch(entries), next }
  } finally {
    entries.return(undefined)
  }
}

export class SyncContents {
  readonly #sql: Statements
  readonly #cache: ConnectionCache
  readonly #microseconds: MicrosecondClock

  constructor(sql: Statements, cache: ConnectionCache, microseconds: MicrosecondClock) {
    this.#sql = sql
    this.#cache = cache
    this.#microseconds = microseconds
  }

  /** The partitions with the smallest ids after this one. */
  partitionsAfter(id: number): ReadonlyArray<readonly [id: number, name: string]> {
    return this.#sql.partitionsAfter.all(id, stepSize)
  }

  find(partition: Partition.Partition): { readonly id: number; readonly sequence: number } | undefined {
    return this.#sql.sequence.get(partition)
  }

  /** The ids of records from this key on. Ids are in the order of creation, but no index has them in that order. */
  recordIds(partition: number, from: string): { readonly ids: ReadonlyArray<number>; readonly next?: string } {
    const rows = this.#sql.recordIdsFrom.all(partition, from, stepSize)
    const last = rows.at(-1)
    return { ids: rows.map(([id]) => id), ...(last === undefined ? {} : { next: successor(last[1]) }) }
  }

  records(ids: ReadonlyArray<number>): Step<ReadonlyArray<number>> {
    let position = 0
    const sql = this.#sql
    const toEntries = function* () {
      for (const id of ids) {
        position++
        const row = sql.recordById.get(id)
        if (row === undefined) continue
        const [key, ...columns] = row
        yield StoreEntry.Record({ record: toRecord(key, columns) })
      }
    }
    return { entries: takeBatch(toEntries()), next: ids.slice(position) }
  }

  counters(partition: number, from: string, clock: Clock.Clock): Step<string> {
    const rows = this.#sql.countersFrom.iterate(partition, from, this.#microseconds.readMillis(clock))
    return takeStep(from, rows, ([name, value, expiresAt]) => StoreEntry.Counter({ name, value, expiresAt }))
  }

  replays(partition: number, from: string, clock: Clock.Clock): Step<string> {
    const rows = this.#sql.replaysFrom.iterate(partition, from, this.#microseconds.readMillis(clock))
    return takeStep(from, rows, ([id, stored, expiresAt]) =>
      StoreEntry.Replay({ id, ...decodeReplay(stored), expiresAt })
    )
  }

  write(partition: Partition.Partition, entries: ReadonlyArray<StoreEntry>): void {
    this.#cache.counters.flush()
    const id = this.#sql.partition.get(partition) ?? requireRow(this.#sql.insertPartition.get(partition))
    for (const entry of entries) this.#writeEntry(id, entry)
    this.#cache.counters.reset()
  }

  #writeEntry(partition: number, entry: StoreEntry): void {
    const sql = this.#sql
    switch (entry._tag) {
      case "Sequence":
        sql.raiseSequence.run(entry.value, partition)
        break
      case "Record":
        if (sql.version.get(partition, entry.record.key) !== undefined) return
        this.#cache.versions.invalidate(partition, entry.record.key)
        insertRecord(sql, partition, entry.record)
        break
      case "Counter":
        sql.setCounter.run(partition, entry.name, entry.value, entry.expiresAt)
        break
      case "Replay":
        sql.insertReplay.run(partition, entry.id, encodeReplay(entry), entry.expiresAt)
    }
  }
}
