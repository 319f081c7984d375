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
import { closed, isBusy, unavailable } from "./faults.ts"

/** How long a commit waits for the lock before it gives up. */
export const patience = 5_000

type Failure = StoreUnavailable

interface Job<A> {
  readonly run: () => A
  readonly operation: StoreUnavailable["operation"]
  readonly deadline: number
  readonly answer: (result: Effect.Effect<A, Failure>) => void
}

const failed = (job: Job<never>, error: Failure): void => job.answer(Effect.fail(error))

export class CommitQueue {
  readonly #database: Database
  #waiting: Array<Job<never>> = []
  #scheduled = false
  #closed = false
  #whenIdle: (() => void) | undefined

  constructor(database: Database) {
    this.#database = database
  }

  /** Runs `run` inside the next transaction. It is not run again once it has been answered. */
  submit<A>(operation: StoreUnavailable["operation"], run: () => A): Effect.Effect<A, Failure> {
    return Effect.callback<A, Failure>((resume) => {
      if (this.#closed) return resume(Effect.fail(closed(operation)))
      const job: Job<A> = { run, operation, deadline: performance.now() + patience, answer: resume }
      this.#waiting.push(job as unknown as Job<never>)
      this.#schedule(0)
      return Effect.sync(() => {
        this.#waiting = this.#waiting.filter((other) => other !== (job as unknown))
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

  #perform(jobs: ReadonlyArray<Job<never>>): void {
    if (jobs.length === 0) return
    let committing = false
    try {
      // A host that shares its connection may be in the middle of a transaction of its own.
      if (this.#database.inTransaction) return this.#later(jobs, undefined)
      this.#database.exec("BEGIN IMMEDIATE")
      const results = jobs.map(({ run }) => run())
      committing = true
      this.#database.exec("COMMIT")
      jobs.forEach((job, index) => job.answer(Effect.succeed(results[index] as never)))
    } catch (error) {
      if (this.#database.open && this.#database.inTransaction) this.#database.exec("ROLLBACK")
      if (isBusy(error)) return this.#later(jobs, error)
      // One commit's fault must not become its neighbours': each is tried alone.
      if (jobs.length > 1 && !committing) for (const job of jobs) this.#perform([job])
      else for (const job of jobs) failed(job, unavailable(job.operation, error, committing ? "unknown" : "not-applied"))
    }
  }

  #later(jobs: ReadonlyArray<Job<never>>, error: unknown): void {
    const now = performance.now()
    const [late, early] = [jobs.filter(({ deadline }) => deadline <= now), jobs.filter(({ deadline }) => deadline > now)]
    for (const job of late) failed(job, busy(job.operation, error))
    this.#waiting = [...early, ...this.#waiting]
    if (this.#waiting.length > 0) this.#schedule(1 + Math.random() * 15)
  }
}

const busy = (operation: StoreUnavailable["operation"], cause: unknown): StoreUnavailable =>
  new StoreUnavailable({
    operation,
    problem: `the database has been locked for ${patience / 1000} seconds`,
    retryable: true,
    outcome: "not-applied",
    ...(cause === undefined ? {} : { cause })
  })
