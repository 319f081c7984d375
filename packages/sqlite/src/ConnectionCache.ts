/**
 * What transactions on one connection keep in memory, until another connection writes to the file. SQLite reports such
 * writes through `PRAGMA data_version`.
 */
import type { Database, Statement } from "better-sqlite3"
import { CounterCache } from "./CounterCache.ts"
import type { Statements } from "./statements.ts"
import { VersionCache } from "./VersionCache.ts"

/** Stores on one connection share a cache: `data_version` does not change for writes on the same connection. */
const caches = new WeakMap<Database, ConnectionCache>()

export class ConnectionCache {
  static forDatabase(database: Database, sql: Statements): ConnectionCache {
    const cache = caches.get(database) ?? new ConnectionCache(database, sql)
    caches.set(database, cache)
    return cache
  }

  readonly versions: VersionCache
  readonly counters: CounterCache
  readonly #dataVersionStatement: Statement
  #dataVersion: unknown

  private constructor(database: Database, sql: Statements) {
    this.versions = new VersionCache(sql)
    this.counters = new CounterCache(sql)
    this.#dataVersionStatement = database.prepare("PRAGMA data_version").pluck()
  }

  /** Call after a transaction has begun. Forgets everything if another connection has written since the last one. */
  onBegin(): void {
    const dataVersion = this.#dataVersionStatement.get()
    if (dataVersion !== this.#dataVersion) this.reset()
    this.#dataVersion = dataVersion
  }

  /** Call after a rollback. */
  reset(): void {
    this.versions.reset()
    this.counters.reset()
  }
}
