/**
 * The versions of records that commits rely on, remembered for as long as nobody else has written: SQLite tells when
 * another connection has. A use of a key is counted on the strength of four or five records, which hardly ever change.
 */
import type { Database } from "better-sqlite3"

/** How many are remembered. */
const maxVersions = 20_000

/** Whoever shares a connection shares this: what is written on it does not count as another's. */
const ofDatabase = new WeakMap<Database, VersionCache>()

export class VersionCache {
  static of(database: Database): VersionCache {
    const known = ofDatabase.get(database) ?? new VersionCache(database)
    ofDatabase.set(database, known)
    return known
  }

  readonly #changes: () => unknown
  #known = new Map<number, Map<string, number>>()
  #count = 0
  #seen: unknown

  private constructor(database: Database) {
    const statement = database.prepare("PRAGMA data_version").pluck()
    this.#changes = () => statement.get()
  }

  /** A transaction has begun: what was remembered holds, unless another connection has written since. */
  begin(): void {
    const changes = this.#changes()
    if (changes !== this.#seen) this.forget()
    this.#seen = changes
  }

  /** What was written in a transaction did not come to be. */
  forget(): void {
    this.#known = new Map()
    this.#count = 0
  }

  /** The version of a record, read where it is not known. */
  get(partition: number, key: string, read: (partition: number, key: string) => number): number {
    const ofPartition = this.#known.get(partition)
    const known = ofPartition?.get(key)
    if (known !== undefined) return known
    const version = read(partition, key)
    if (++this.#count > maxVersions) this.forget()
    const versions = this.#known.get(partition)
    if (versions === undefined) this.#known.set(partition, new Map([[key, version]]))
    else versions.set(key, version)
    return version
  }

  /** A record is being written. */
  drop(partition: number, key: string): void {
    this.#known.get(partition)?.delete(key)
  }
}
