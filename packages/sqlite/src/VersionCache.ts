/**
 * Caches the record versions that commits check, until another connection writes to the file. SQLite reports such writes
 * through `PRAGMA data_version`. Each metered request checks four or five records, which rarely change.
 */
import { BoundedMap } from "@tollgate/core/store"
import type { Database } from "better-sqlite3"

const maxVersions = 20_000

/** Stores on one connection share a cache: `data_version` does not change for writes on the same connection. */
const caches = new WeakMap<Database, VersionCache>()

export class VersionCache {
  static forDatabase(database: Database): VersionCache {
    const cache = caches.get(database) ?? new VersionCache(database)
    caches.set(database, cache)
    return cache
  }

  readonly #readDataVersion: () => unknown
  readonly #versions = new BoundedMap<string, number>(maxVersions)
  #dataVersion: unknown

  private constructor(database: Database) {
    const statement = database.prepare("PRAGMA data_version").pluck()
    this.#readDataVersion = () => statement.get()
  }

  /** Call after a transaction has begun. Resets the cache if another connection has written since the last one. */
  onBegin(): void {
    const dataVersion = this.#readDataVersion()
    if (dataVersion !== this.#dataVersion) this.reset()
    this.#dataVersion = dataVersion
  }

  /** Call after a rollback: versions read in that transaction may not exist. */
  reset(): void {
    this.#versions.clear()
  }

  /** Returns the version of a record, and reads and caches it if necessary. */
  get(partition: number, key: string, read: (partition: number, key: string) => number): number {
    const id = `${partition} ${key}`
    const cached = this.#versions.get(id)
    if (cached !== undefined) return cached
    const version = read(partition, key)
    this.#versions.set(id, version)
    return version
  }

  /** Call when a record is written. */
  invalidate(partition: number, key: string): void {
    this.#versions.delete(`${partition} ${key}`)
  }
}
