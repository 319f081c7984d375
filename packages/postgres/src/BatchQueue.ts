/**
 * Gathers the items that arrive in one turn of the event loop, and while earlier batches are running, into one batch: one
 * round trip for all. The higher the load, the larger the batches.
 */
import { Effect } from "effect"

export interface BatchQueueOptions<A> {
  readonly maxBatchWeight: number
  readonly maxRunningBatches: number
  readonly weigh: (item: A) => number
  /** Called when the queue is empty and no batch is running. */
  readonly onIdle?: (() => void) | undefined
}

interface Job<A, B, E> {
  readonly item: A
  readonly resume: (result: Effect.Effect<B, E>) => void
}

export class BatchQueue<A, B, E> {
  readonly #runBatch: (items: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, E>
  readonly #options: BatchQueueOptions<A>
  readonly #pending = new Set<Job<A, B, E>>()
  #running = 0
  #isScheduled = false

  /** `runBatch` returns one result per item, in order. */
  constructor(
    runBatch: (items: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, E>,
    options: BatchQueueOptions<A>
  ) {
    this.#runBatch = runBatch
    this.#options = options
  }

  add(item: A): Effect.Effect<B, E> {
    return Effect.callback<B, E>((resume) => {
      const job = { item, resume }
      this.#pending.add(job)
      if (!this.#isScheduled) {
        this.#isScheduled = true
        process.nextTick(() => {
          this.#isScheduled = false
          this.#flush()
        })
      }
      // A caller that is interrupted before its batch is sent removes its item from the batch.
      return Effect.sync(() => void this.#pending.delete(job))
    })
  }

  #flush(): void {
    while (this.#pending.size > 0 && this.#running < this.#options.maxRunningBatches) this.#start(this.#takeBatch())
    if (this.#pending.size === 0 && this.#running === 0) this.#options.onIdle?.()
  }

  #takeBatch(): ReadonlyArray<Job<A, B, E>> {
    const { maxBatchWeight, weigh } = this.#options
    const jobs: Array<Job<A, B, E>> = []
    let weight = 0
    for (const job of this.#pending) {
      weight += weigh(job.item)
      if (jobs.length > 0 && weight > maxBatchWeight) break
      this.#pending.delete(job)
      jobs.push(job)
    }
    return jobs
  }

  #start(jobs: ReadonlyArray<Job<A, B, E>>): void {
    this.#running++
    const results = Effect.suspend(() => this.#runBatch(jobs.map(({ item }) => item)))
    Effect.runFork(
      Effect.matchCause(results, {
        onFailure: (cause) => {
          for (const { resume } of jobs) resume(Effect.failCause(cause))
          this.#finish()
        },
        onSuccess: (results) => {
          for (const [index, { resume }] of jobs.entries()) resume(Effect.succeed(results[index] as B))
          this.#finish()
        }
      })
    )
  }

  #finish(): void {
    this.#running--
    // The callers that were resumed may add their next items in this turn.
    if (!this.#isScheduled) process.nextTick(() => this.#flush())
  }
}
