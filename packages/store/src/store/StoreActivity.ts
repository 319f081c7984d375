import type { StoreDescription } from "./Store.ts"

/** Counts what a store is doing, for its description. */
export class StoreActivity {
  readonly #queues: Array<() => number> = []
  #retries = 0

  /** Adds a queue. `count` returns how many operations wait in it. */
  addQueue(count: () => number): void {
    this.#queues.push(count)
  }

  countRetry(): void {
    this.#retries++
  }

  describe(system: string): StoreDescription {
    return {
      system,
      countQueued: () => this.#queues.reduce((sum, count) => sum + count(), 0),
      countRetries: () => this.#retries
    }
  }
}
