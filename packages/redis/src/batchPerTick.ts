/**
 * Gathers what is asked of a partition in one turn of the event loop, and asks it together: one round trip and one
 * script for all of them.
 */
import type { Partition } from "@tollgate/core"
import { Effect } from "effect"

/** So many are asked together: a script keeps everybody else waiting while it runs. */
const maxBatch = 32

interface Job<A, B, E> {
  readonly item: A
  readonly resume: (result: Effect.Effect<B, E>) => void
}

/** Asks for one, together with whatever else is asked for; `ask` answers each item, in order. */
export const batchPerTick = <A, B, E>(
  ask: (partition: Partition.Partition, items: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, E>
): ((partition: Partition.Partition, item: A) => Effect.Effect<B, E>) => {
  let waiting = new Map<Partition.Partition, Set<Job<A, B, E>>>()

  const runBatch = (partition: Partition.Partition, jobs: ReadonlyArray<Job<A, B, E>>): void => {
    const items = jobs.map(({ item }) => item)
    const asking = Effect.suspend(() => ask(partition, items))
    Effect.runFork(
      Effect.matchCause(asking, {
        onFailure: (cause) => {
          for (const { resume } of jobs) resume(Effect.failCause(cause))
        },
        onSuccess: (answers) => {
          for (const [index, { resume }] of jobs.entries()) resume(Effect.succeed(answers[index] as B))
        }
      })
    )
  }

  const flush = (): void => {
    const batches = waiting
    waiting = new Map()
    for (const [partition, set] of batches) {
      const jobs = Array.from(set)
      for (let first = 0; first < jobs.length; first += maxBatch)
        runBatch(partition, jobs.slice(first, first + maxBatch))
    }
  }

  return (partition, item) =>
    Effect.callback<B, E>((resume) => {
      if (waiting.size === 0) process.nextTick(flush)
      const jobs = waiting.get(partition) ?? new Set()
      waiting.set(partition, jobs)
      const job = { item, resume }
      jobs.add(job)
      // A caller that is interrupted before its batch is sent takes its item out of it.
      return Effect.sync(() => void jobs.delete(job))
    })
}
