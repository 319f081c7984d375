/**
 * Gathers the items of one lane that arrive in one turn of the event loop, and while earlier batches of the lane are
 * running, into one batch: one round trip for all. The higher the load, the larger the batches.
 */
import { Effect } from "effect"
import type { StoreActivity } from "./StoreActivity.ts"

export interface BatchQueueOptions<A, E> {
  readonly activity: StoreActivity
  readonly maxBatchWeight: number
  readonly weigh: (item: A) => number
  /** The number of batches of one lane that run at the same time. */
  readonly maxRunningBatches: number
  /** Fails an item that has waited too long when its turn comes. */
  readonly expiry?: { readonly maxWaitMs: number; readonly makeError: () => E } | undefined
}

interface Job<A, B, E> {
  readonly item: A
  readonly addedAt: number
  readonly resume: (result: Effect.Effect<B, E>) => void
}

interface Lane<A, B, E> {
  readonly pending: Set<Job<A, B, E>>
  running: number
  isScheduled: boolean
}

export class BatchQueue<K, A, B, E> {
  readonly #runBatch: (lane: K, items: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, E>
  readonly #options: BatchQueueOptions<A, E>
  readonly #lanes = new Map<K, Lane<A, B, E>>()

  /** `runBatch` returns one result per item, in order. */
  constructor(
    runBatch: (lane: K, items: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, E>,
    options: BatchQueueOptions<A, E>
  ) {
    this.#runBatch = runBatch
    this.#options = options
    options.activity.addQueue(() => [...this.#lanes.values()].reduce((sum, { pending }) => sum + pending.size, 0))
  }

  add(key: K, item: A): Effect.Effect<B, E> {
    return Effect.callback<B, E>((resume) => {
      const lane = this.#lanes.get(key) ?? { pending: new Set(), running: 0, isScheduled: false }
      this.#lanes.set(key, lane)
      const job = { item, addedAt: performance.now(), resume }
      lane.pending.add(job)
      this.#schedule(key, lane)
      // A caller that is interrupted before its batch is sent removes its item from the batch.
      return Effect.sync(() => void lane.pending.delete(job))
    })
  }

  /** Sends at the end of this turn: callers that were resumed in it add their next items first. */
  #schedule(key: K, lane: Lane<A, B, E>): void {
    if (lane.isScheduled) return
    lane.isScheduled = true
    process.nextTick(() => {
      lane.isScheduled = false
      this.#failExpired(lane)
      while (lane.pending.size > 0 && lane.running < this.#options.maxRunningBatches) this.#start(key, lane)
      if (lane.pending.size === 0 && lane.running === 0) this.#lanes.delete(key)
    })
  }

  /** The jobs are in the order in which they were added. */
  #failExpired({ pending }: Lane<A, B, E>): void {
    const { expiry } = this.#options
    if (expiry === undefined) return
    const oldest = performance.now() - expiry.maxWaitMs
    for (const job of pending) {
      if (job.addedAt >= oldest) return
      pending.delete(job)
      job.resume(Effect.fail(expiry.makeError()))
    }
  }

  #takeBatch({ pending }: Lane<A, B, E>): ReadonlyArray<Job<A, B, E>> {
    const { maxBatchWeight, weigh } = this.#options
    const jobs: Array<Job<A, B, E>> = []
    let weight = 0
    for (const job of pending) {
      weight += weigh(job.item)
      if (jobs.length > 0 && weight > maxBatchWeight) break
      pending.delete(job)
      jobs.push(job)
    }
    return jobs
  }

  #start(key: K, lane: Lane<A, B, E>): void {
    const jobs = this.#takeBatch(lane)
    const finish = (resume: (job: Job<A, B, E>, index: number) => void) => {
      jobs.forEach(resume)
      lane.running--
      this.#schedule(key, lane)
    }
    const results = Effect.suspend(() =>
      this.#runBatch(
        key,
        jobs.map(({ item }) => item)
      )
    )
    lane.running++
    Effect.runFork(
      Effect.matchCause(results, {
        onFailure: (cause) => finish(({ resume }) => resume(Effect.failCause(cause))),
        onSuccess: (results) => finish(({ resume }, index) => resume(Effect.succeed(results[index] as B)))
      })
    )
  }
}
