/**
 * Answers of `verify` that are kept in the process for a while. Off unless a host asks for it: what another process
 * changes is seen when the time is over. What this process changes is seen at once.
 */
import { Context, Effect, Layer } from "effect"
import type { Partition } from "../store/Partition.ts"
import type { Verified } from "./Verification.ts"

export interface VerifyCacheOptions {
  /** Milliseconds for which an answer may be out of date. */
  readonly ttl: number
  /** How many answers are kept; the oldest goes first. */
  readonly capacity?: number
}

/** Characters of consumers that are kept with their answers, whatever the capacity. */
const maxBytes = 64 * 1024 * 1024

interface Answer {
  readonly answer: Verified
  /** How much of the consumer is kept with it. */
  readonly bytes: number
}

interface Cached extends Answer {
  readonly partition: Partition
  readonly until: number
}

export class VerifyCache extends Context.Service<
  VerifyCache,
  {
    readonly get: (partition: Partition, hash: string, now: number) => Verified | undefined
    /** Changes with every change made here: an answer that was read before one is not kept after it. */
    readonly generation: () => number
    readonly set: (partition: Partition, hash: string, answer: Answer, now: number, generation: number) => void
    /** Makes a change, to its end, and forgets its partition however that ends. */
    readonly invalidateAfter: <A, E, R>(partition: Partition, change: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    readonly enabled: boolean
  }
>()("@tollgate/core/keys/VerifyCache") {
  static readonly layerDisabled: Layer.Layer<VerifyCache> = Layer.succeed(VerifyCache, {
    get: () => undefined,
    generation: () => 0,
    set: () => undefined,
    invalidateAfter: (_, change) => change,
    enabled: false
  })

  static layer({ ttl, capacity = 10_000 }: VerifyCacheOptions): Layer.Layer<VerifyCache> {
    return Layer.sync(VerifyCache, () => {
      const answers = new Map<string, Cached>()
      const inPartition = new Map<Partition, Set<string>>()
      let generation = 0
      let bytes = 0
      const drop = (name: string, { partition, bytes: dropped }: Cached) => {
        answers.delete(name)
        bytes -= dropped
        const names = inPartition.get(partition)
        names?.delete(name)
        if (names?.size === 0) inPartition.delete(partition)
      }
      const invalidate = (partition: Partition) => {
        generation++
        for (const name of inPartition.get(partition) ?? []) {
          const cached = answers.get(name)
          if (cached !== undefined) drop(name, cached)
        }
      }
      return {
        enabled: true,
        get: (partition, hash, now) => {
          const cached = answers.get(`${partition} ${hash}`)
          return cached !== undefined && cached.until > now ? cached.answer : undefined
        },
        generation: () => generation,
        set: (partition, hash, answer, now, readAt) => {
          if (readAt !== generation) return
          const name = `${partition} ${hash}`
          const present = answers.get(name)
          if (present !== undefined) drop(name, present)
          for (const [oldest, cached] of answers) {
            if (answers.size < capacity && bytes + answer.bytes <= maxBytes) break
            drop(oldest, cached)
          }
          answers.set(name, { ...answer, partition, until: now + ttl })
          bytes += answer.bytes
          inPartition.set(partition, (inPartition.get(partition) ?? new Set()).add(name))
        },
        // A change that was cut off may still come to pass, after what was read before it has been kept.
        invalidateAfter: (partition, change) =>
          Effect.uninterruptible(
            Effect.ensuring(
              change,
              Effect.sync(() => invalidate(partition))
            )
          )
      }
    })
  }
}
