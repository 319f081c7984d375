/**
 * Group commit: runs the commits that arrive in one turn of the event loop in one transaction, and resolves them after
 * SQLite has flushed it. The commits share one flush, which is the expensive part, and stay equally durable.
 *
 * The queue never blocks the event loop. When another process holds the lock, it retries the transaction after a random
 * delay. SQLite has no queue for its lock, so the delay gets shorter the longer a commit has waited: a process that has
 * waited for long then finds the lock free before others do. Each commit fails when it has waited for `lockTimeoutMs`.
 */
import { StoreUnavailable } from "@tollgate/store"
import type { Database } from "better-sqlite3"
import { Effect, Exit } from "effect"
import type { ConnectionCache } from "./ConnectionCache.ts"
import { isBusy, makeClosedError, toUnavailable } from "./classifyError.ts"

/** A transaction takes no further commits after this time, in milliseconds: others wait for the next turn of the event loop. */
const maxTransactionMs = 10

/** Milliseconds for which a commit waits for the lock. */
const lockTimeoutMs = 5_000

/** The longest delay between two attempts to get the lock, in milliseconds: at first, and after half of the timeout. */
const longestDelayMs = 16
const shortestDelayMs = 1

interface Job {
  readonly operation: StoreUnavailable["operation"]
  /** When the commit arrived, on the monotonic clock. */
  readonly arrival: number
  /** Runs inside a transaction. */
  readonly run: () => JobExit
  /** Is called with what `run` has returned after the transaction is committed, or with the error. */
  readonly resume: (exit: JobExit) => void
}

type JobExit = Exit.Exit<unknown, unknown>

export class CommitQueue {
  readonly #database: Database
  readonly #cache: ConnectionCache
  #pending: Array<Job> = []
  #isScheduled = false
  #isClosed = false
  #onIdle: (() => void) | undefined

  constructor(database: Database, cache: ConnectionCache) {
    this.#database = database
    this.#cache = cache
  }

  /** Runs `run` inside the next transaction, and again from the start if that transaction has to be retried. */
  submit<A, E>(
    operation: StoreUnavailable["operation"],
    run: () => Exit.Exit<A, E>
  ): Effect.Effect<A, E | StoreUnavailable> {
    return Effect.callback<A, E | StoreUnavailable>((resume) => {
      if (this.#isClosed) return resume(Effect.fail(makeClosedError(operation)))
      const job: Job = { operation, arrival: performance.now(), run, resume: resume as Job["resume"] }
      this.#pending.push(job)
      this.#schedule(0)
      return Effect.sync(() => {
        this.#pending = this.#pending.filter((other) => other !== job)
      })
    })
  }

  countPending(): number {
    return this.#pending.length
  }

  /** Rejects new jobs and waits for the pending ones. */
  close(): Promise<void> {
    this.#isClosed = true
    return this.#isScheduled ? new Promise((resolve) => (this.#onIdle = resolve)) : Promise.resolve()
  }

  #schedule(delay: number): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    if (delay === 0) setImmediate(this.#flush)
    else setTimeout(this.#flush, delay)
  }

  readonly #flush = (): void => {
    this.#isScheduled = false
    const jobs = this.#pending
    this.#pending = []
    this.#runTransaction(jobs)
    if (!this.#isScheduled) this.#onIdle?.()
  }

  #runTransaction(waiting: ReadonlyArray<Job>): void {
    if (waiting.length === 0) return
    if (this.#database.inTransaction) {
      // Your application uses the same connection and has a transaction open.
      this.#requeue(waiting, undefined)
      return
    }
    let jobs = waiting
    const exits: Array<JobExit> = []
    let isCommitting = false
    try {
      this.#database.exec("BEGIN IMMEDIATE")
      this.#cache.onBegin()
      const end = performance.now() + maxTransactionMs
      for (const { run } of waiting) {
        exits.push(run())
        if (performance.now() >= end) break
      }
      jobs = waiting.slice(0, exits.length)
      this.#pending = [...waiting.slice(exits.length), ...this.#pending]
      this.#cache.counters.flush()
      isCommitting = true
      this.#database.exec("COMMIT")
      for (const [index, { resume }] of jobs.entries()) resume(exits[index] as JobExit)
    } catch (error) {
      this.#cache.reset()
      if (this.#database.open && this.#database.inTransaction) this.#database.exec("ROLLBACK")
      if (isBusy(error)) this.#requeue(jobs, error)
      // One failing commit must not fail the others in the transaction: retry each in its own transaction.
      else if (jobs.length > 1 && !isCommitting) for (const job of jobs) this.#runTransaction([job])
      else
        for (const { operation, resume } of jobs) {
          resume(Exit.fail(toUnavailable(operation, error, isCommitting ? "unknown" : "not-applied")))
        }
    }
    if (this.#pending.length > 0) this.#schedule(0)
  }

  /** Fails the jobs that have waited too long and retries the others after a random delay. */
  #requeue(jobs: ReadonlyArray<Job>, error: unknown): void {
    const now = performance.now()
    const isLate = ({ arrival }: Job): boolean => now - arrival >= lockTimeoutMs
    for (const job of jobs) if (isLate(job)) job.resume(Exit.fail(lockTimeoutError(job.operation, error)))
    this.#pending = [...jobs.filter((job) => !isLate(job)), ...this.#pending]
    const oldest = this.#pending[0]
    if (oldest !== undefined) this.#schedule(retryDelayMs(now - oldest.arrival))
  }
}

const retryDelayMs = (waitedMs: number): number => {
  const patience = Math.max(0, 1 - (2 * waitedMs) / lockTimeoutMs)
  return shortestDelayMs + Math.random() * patience * (longestDelayMs - shortestDelayMs)
}

const lockTimeoutError = (operation: StoreUnavailable["operation"], cause: unknown): StoreUnavailable =>
  new StoreUnavailable({
    operation,
    problem: `the database has been locked for ${lockTimeoutMs / 1000} seconds`,
    retryable: true,
    outcome: "not-applied",
    ...(cause === undefined ? {} : { cause })
  })
