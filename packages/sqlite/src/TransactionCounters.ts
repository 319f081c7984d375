/**
 * The counters that the commits of one transaction use. Each is read once, and written once at the end of the
 * transaction, so a counter that many of its commits change costs little more than one write.
 */
import type { Statements } from "./statements.ts"

/**
 * Milliseconds by which a counter is kept longer than necessary, at most. While its expiry stays the same, the index on
 * the expiry does not change.
 */
const maxExtension = 60_000

interface Counter {
  readonly partition: number
  readonly name: string
  /** The expiry in the table; 0 if there is no row. */
  readonly storedExpires: number
  value: number
  /** 0 if the counter does not exist. */
  expires: number
  isChanged: boolean
}

export class TransactionCounters {
  readonly #sql: Statements
  readonly #counters = new Map<string, Counter>()

  constructor(sql: Statements) {
    this.#sql = sql
  }

  /** The value of a counter; 0 if it does not exist or has expired. */
  get(partition: number, name: string, now: number): number {
    const { value, expires } = this.#find(partition, name)
    return expires > now ? value : 0
  }

  /** Sets a counter and keeps it for at least `ttl` more milliseconds. */
  set(partition: number, name: string, value: number, ttl: number, now: number): void {
    const counter = this.#find(partition, name)
    counter.value = value
    if (counter.expires < now + ttl) counter.expires = now + ttl + Math.floor(Math.min(ttl / 8, maxExtension))
    counter.isChanged = true
  }

  remove(partition: number, name: string): void {
    const counter = this.#find(partition, name)
    counter.expires = 0
    counter.isChanged = true
  }

  /** Writes what has changed. Call before COMMIT, and before statements that use the table. */
  flush(): void {
    for (const { partition, name, value, expires, storedExpires, isChanged } of this.#counters.values()) {
      if (!isChanged) continue
      if (expires === 0) this.#sql.deleteCounter.run(partition, name)
      else if (expires === storedExpires) this.#sql.updateCounter.run(value, partition, name)
      else this.#sql.setCounter.run(partition, name, value, expires)
    }
    this.reset()
  }

  /** Forgets what was not written. Call after a rollback. */
  reset(): void {
    this.#counters.clear()
  }

  #find(partition: number, name: string): Counter {
    const key = `${partition} ${name}`
    const existing = this.#counters.get(key)
    if (existing !== undefined) return existing
    const [value, expires] = this.#sql.counterRow.get(partition, name) ?? [0, 0]
    const counter = { partition, name, storedExpires: expires, value, expires, isChanged: false }
    this.#counters.set(key, counter)
    return counter
  }
}
