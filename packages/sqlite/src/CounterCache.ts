/**
 * Caches the counters that commits use, until another connection writes to the file. Within a transaction, a counter that
 * many commits change is written once, at the end.
 */
import type { Statements } from "./statements.ts"

/**
 * Milliseconds by which a counter is kept longer than necessary, at most. While its expiry stays the same, the index on
 * the expiry does not change.
 */
const maxExtension = 60_000

const maxCounters = 20_000

interface Counter {
  readonly partition: number
  readonly name: string
  /** The expiry in the table; 0 if there is no row. */
  storedExpires: number
  value: number
  /** 0 if the counter does not exist. */
  expires: number
  isChanged: boolean
}

export class CounterCache {
  readonly #sql: Statements
  readonly #counters = new Map<number, Map<string, Counter>>()
  #size = 0
  #changed: Array<Counter> = []

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
    if (!counter.isChanged) this.#changed.push(counter)
    counter.isChanged = true
  }

  remove(partition: number, name: string): void {
    const counter = this.#find(partition, name)
    counter.expires = 0
    if (!counter.isChanged) this.#changed.push(counter)
    counter.isChanged = true
  }

  /** Writes what has changed. Call before COMMIT, and before statements that read the table. */
  flush(): void {
    for (const counter of this.#changed) {
      const { partition, name, value, expires, storedExpires } = counter
      if (expires === 0) this.#sql.deleteCounter.run(partition, name)
      else if (expires === storedExpires) this.#sql.updateCounter.run(value, partition, name)
      else this.#sql.setCounter.run(partition, name, value, expires)
      counter.storedExpires = expires
      counter.isChanged = false
    }
    this.#changed = []
    if (this.#size > maxCounters) this.reset()
  }

  /** Forgets everything. Call after a rollback, and after statements that change the table. */
  reset(): void {
    this.#counters.clear()
    this.#size = 0
    this.#changed = []
  }

  #find(partition: number, name: string): Counter {
    let counters = this.#counters.get(partition)
    const existing = counters?.get(name)
    if (existing !== undefined) return existing
    const [value, expires] = this.#sql.counterRow.get(partition, name) ?? [0, 0]
    const counter = { partition, name, storedExpires: expires, value, expires, isChanged: false }
    if (counters === undefined) {
      counters = new Map()
      this.#counters.set(partition, counters)
    }
    counters.set(name, counter)
    this.#size++
    return counter
  }
}
