/**
 * Batches the calls to a partition that arrive in one tick of the event loop: one round trip and one script for all.
 */
import type { Partition } from "@tollgate/core/store"
import { Effect } from "effect"

/** A running script blocks all other clients of Redis, so larger batches are split. */
const maxBatchSize = 32

interface Job<A, B, E> {
  readonly item: A
  readonly resume: (result: Effect.Effect<B, E>) => void
}

/** Returns a function that adds one item to the current batch. `runBatch` returns one result per item, in order. */
export const batchPerTick = <A, B, E>(
  runBatch: (partition: Partition.Partition, items: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, E>
): ((partition: Partition.Partition, item: A) => Effect.Effect<B, E>) => {
  let pending = new Map<Partition.Partition, Set<Job<A, B, E>>>()

  const runJobs = (partition: Partition.Partition, jobs: ReadonlyArray<Job<A, B, E>>): void => {
    const items = jobs.map(({ item }) => item)
    const results = Effect.suspend(() => runBatch(partition, items))
    Effect.runFork(
      Effect.matchCause(results, {
        onFailure: (cause) => {
          for (const { resume } of jobs) resume(Effect.failCause(cause))
        },
        onSuccess: (results) => {
          for (const [index, { resume }] of jobs.entries()) resume(Effect.succeed(results[index] as B))
        }
      })
    )
  }

  const flush = (): void => {
    const batches = pending
    pending = new Map()
    for (const [partition, set] of batches) {
      const jobs = Array.from(set)
      for (let first = 0; first < jobs.length; first += maxBatchSize)
        runJobs(partition, jobs.slice(first, first + maxBatchSize))
    }
  }

  return (partition, item) =>
    Effect.callback<B, E>((resume) => {
      if (pending.size === 0) process.nextTick(flush)
      const jobs = pending.get(partition) ?? new Set()
      pending.set(partition, jobs)
      const job = { item, resume }
      jobs.add(job)
      // A caller that is interrupted before its batch is sent removes its item from the batch.
      return Effect.sync(() => void jobs.delete(job))
    })
}
