/**
 * Caches the record versions that commits check, until another connection writes to the file. Each metered request checks
 * four or five records, which rarely change.
 */
import type { Statements } from "./statements.ts"

const maxVersions = 20_000

export class VersionCache {
  readonly #sql: Statements
  readonly #versions = new Map<number, Map<string, number>>()
  #size = 0

  constructor(sql: Statements) {
    this.#sql = sql
  }

  /** Call after a rollback: versions read in that transaction may not exist. */
  reset(): void {
    this.#versions.clear()
    this.#size = 0
  }

  /** The version of a record; 0 if it does not exist. */
  get(partition: number, key: string): number {
    const cached = this.#versions.get(partition)?.get(key)
    if (cached !== undefined) return cached
    if (this.#size >= maxVersions) this.reset()
    const version = this.#sql.version.get(partition, key) ?? 0
    const versions = this.#versions.get(partition) ?? new Map()
    this.#versions.set(partition, versions.set(key, version))
    this.#size++
    return version
  }

  /** Call when a record is written. */
  invalidate(partition: number, key: string): void {
    if (this.#versions.get(partition)?.delete(key) === true) this.#size--
  }
}
