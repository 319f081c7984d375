/**
 * Removes what has expired, in small steps, while the store is in use.
 */
import type { Database } from "./Database.ts"

const intervalMs = 1_000

/** The maximum number of rows that one step removes from each table. */
const stepSize = 1_000

export class Sweeper {
  readonly #database: Database
  readonly #sql: string
  #sweptAt = Number.NEGATIVE_INFINITY

  constructor(database: Database, schema: string) {
    this.#database = database
    this.#sql = `SELECT ${schema}.tollgate_sweep($1)`
  }

  /** Starts a step, unless the last one was a moment ago. Commits do not wait for it. */
  readonly onCommit = (): void => {
    const now = performance.now()
    if (now - this.#sweptAt < intervalMs) return
    this.#sweptAt = now
    this.#sweep().catch(() => {
      // A later commit sweeps again.
    })
  }

  async #sweep(): Promise<void> {
    const rows = await this.#database.query(this.#sql, [stepSize])
    // There may be more.
    if (Number(rows[0]?.[0]) >= stepSize && !this.#database.isClosed()) await this.#sweep()
  }
}
