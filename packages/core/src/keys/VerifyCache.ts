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

interface Cached {
  readonly answer: Verified
  readonly until: number
}

export class VerifyCache extends Context.Service<
  VerifyCache,
  {
    readonly get: (partition: Partition, hash: string, now: number) => Verified | undefined
    /** Changes with every `forget`: an answer that was read before one is not kept after it. */
    readonly generation: () => number
    readonly set: (partition: Partition, hash: string, answer: Verified, now: number, generation: number) => void
    /** Forgets a partition, because something in it was changed here. */
    readonly forget: (partition: Partition) => Effect.Effect<void>
  }
>()("@tollgate/core/keys/VerifyCache") {
  static readonly layerNone: Layer.Layer<VerifyCache> = Layer.succeed(VerifyCache, {
    get: () => undefined,
    generation: () => 0,
    set: () => undefined,
    forget: () => Effect.void
  })

  static layer({ ttl, capacity = 10_000 }: VerifyCacheOptions): Layer.Layer<VerifyCache> {
    return Layer.sync(VerifyCache, () => {
      const partitions = new Map<Partition, Map<string, Cached>>()
      let size = 0
      let generation = 0
      const drop = (partition: Partition) => {
        size -= partitions.get(partition)?.size ?? 0
        partitions.delete(partition)
      }
      return {
        get: (partition, hash, now) => {
          const cached = partitions.get(partition)?.get(hash)
          return cached !== undefined && cached.until > now ? cached.answer : undefined
        },
        generation: () => generation,
        set: (partition, hash, answer, now, readAt) => {
          if (readAt !== generation) return
          const [oldest] = partitions.keys()
          if (size >= capacity && oldest !== undefined) drop(oldest)
          const answers = partitions.get(partition) ?? new Map<string, Cached>()
          partitions.set(partition, answers)
          if (!answers.has(hash)) size++
          answers.set(hash, { answer, until: now + ttl })
        },
        forget: (partition) =>
          Effect.sync(() => {
            generation++
            drop(partition)
          })
      }
    })
  }
}
