/**
 * Gathers the commits that arrive in one turn of the event loop into one transaction, and answers them when it is on
 * the disk: as durable as one by one, at a fraction of the cost, because it is the disk's flush that takes the time.
 *
 * Nothing here sleeps on the event loop. When another process holds the lock, the transaction is tried again a random
 * moment later, until the oldest commit in it has waited long enough.
 */
import { StoreUnavailable } from "@tollgate/core"
import type { Database } from "better-sqlite3"
import { Effect } from "effect"
import { isBusy, storeClosed, unavailable } from "./classifyError.ts"
import type { VersionCache } from "./VersionCache.ts"

/** How long a commit waits for the lock before it gives up. */
export const lockTimeoutMs = 5_000

interface Job {
  readonly operation: StoreUnavailable["operation"]
  readonly deadline: number
  /** Runs inside a transaction, and gives what to do once that is on the disk. */
  readonly run: () => () => void
  readonly fail: (error: StoreUnavailable) => void
}

export class CommitQueue {
  readonly #database: Database
  readonly #versions: VersionCache
  #waiting: Array<Job> = []
  #scheduled = false
  #closed = false
  #whenIdle: (() => void) | undefined

  constructor(database: Database, versions: VersionCache) {
    this.#database = database
    this.#versions = versions
  }

  /** Runs `run` inside the next transaction; again from the start if that could not be completed. */
  submit<A>(operation: StoreUnavailable["operation"], run: () => A): Effect.Effect<A, StoreUnavailable> {
    return Effect.callback<A, StoreUnavailable>((resume) => {
      if (this.#closed) return resume(Effect.fail(storeClosed(operation)))
      const job: Job = {
        operation,
        deadline: performance.now() + lockTimeoutMs,
        run: () => {
          const result = run()
          return () => resume(Effect.succeed(result))
        },
        fail: (error) => resume(Effect.fail(error))
      }
      this.#waiting.push(job)
      this.#schedule(0)
      return Effect.sync(() => {
        this.#waiting = this.#waiting.filter((other) => other !== job)
      })
    })
  }

  /** Takes nothing more, and finishes what is waiting. */
  close(): Promise<void> {
    this.#closed = true
    return this.#scheduled ? new Promise((resolve) => (this.#whenIdle = resolve)) : Promise.resolve()
  }

  #schedule(delay: number): void {
    if (this.#scheduled) return
    this.#scheduled = true
    if (delay === 0) setImmediate(() => this.#flush())
    else setTimeout(() => this.#flush(), delay)
  }

  #flush(): void {
    this.#scheduled = false
    const jobs = this.#waiting
    this.#waiting = []
    this.#perform(jobs)
    if (!this.#scheduled) this.#whenIdle?.()
  }

  #perform(jobs: ReadonlyArray<Job>): void {
    if (jobs.length === 0) return
    if (this.#database.inTransaction) {
      // A host that shares its connection is in the middle of a transaction of its own.
      this.#later(jobs, undefined)
      return
    }
    let committing = false
    try {
      this.#database.exec("BEGIN IMMEDIATE")
      this.#versions.begin()
      const answers = jobs.map(({ run }) => run())
      committing = true
      this.#database.exec("COMMIT")
      for (const answer of answers) answer()
    } catch (error) {
      this.#versions.forget()
      if (this.#database.open && this.#database.inTransaction) this.#database.exec("ROLLBACK")
      if (isBusy(error)) this.#later(jobs, error)
      // One commit's fault must not become its neighbours': each is tried alone.
      else if (jobs.length > 1 && !committing) for (const job of jobs) this.#perform([job])
      else
        for (const { operation, fail } of jobs) {
          fail(unavailable(operation, error, committing ? "unknown" : "not-applied"))
        }
    }
  }

  /** Tries again a random moment later those whose time is not up. */
  #later(jobs: ReadonlyArray<Job>, error: unknown): void {
    const now = performance.now()
    for (const { deadline, fail, operation } of jobs) if (deadline <= now) fail(lockTimeoutError(operation, error))
    this.#waiting = [...jobs.filter(({ deadline }) => deadline > now), ...this.#waiting]
    if (this.#waiting.length > 0) this.#schedule(1 + Math.random() * 15)
  }
}

const lockTimeoutError = (operation: StoreUnavailable["operation"], cause: unknown): StoreUnavailable =>
  new StoreUnavailable({
    operation,
    problem: `the database has been locked for ${lockTimeoutMs / 1000} seconds`,
    retryable: true,
    outcome: "not-applied",
    ...(cause === undefined ? {} : { cause })
  })
