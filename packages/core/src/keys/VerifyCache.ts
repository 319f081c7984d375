/**
 * An in-process cache of `verify` results, disabled by default. Changes made by this process invalidate the cache
 * immediately; changes made by another process become visible when the entry expires.
 */

import { Options, type Partition } from "@tollgate/store/internal"
import { Context, Effect, Layer } from "effect"
import { instruments } from "../telemetry/instruments.ts"
import { observeScoped } from "../telemetry/Telemetry.ts"
import type { FoundKey } from "./Verification.ts"

/** The cache of verified keys in this process. A change by another process is seen when the cached result expires. */
export interface VerifyCacheOptions {
  /** Milliseconds for which a cached result may be stale. */
  readonly ttl: number
  /** Maximum number of cached results. The oldest is evicted first. */
  readonly capacity?: number | undefined
}

export const verifyCacheOptions = Options.struct<VerifyCacheOptions>()({
  ttl: Options.positiveInteger("must be a number of milliseconds, a positive integer"),
  capacity: Options.optional(Options.positiveInteger("must be a number of results, a positive integer"))
})

/** Limits the total size of the cached consumers and keys, independently of `capacity`. */
const maxBytes = 64 * 1024 * 1024

interface CacheValue {
  readonly result: FoundKey
  /** Size of the consumer's record, and of the key's record if it has scopes or addresses. */
  readonly bytes: number
}

interface CacheEntry extends CacheValue {
  readonly partition: Partition.Partition
  readonly expiresAt: number
}

/** The cache of verified keys in this process. `layerDisabled` caches nothing. */
export class VerifyCache extends Context.Service<
  VerifyCache,
  {
    /** `now` is in milliseconds of the monotonic clock, here and in `set`. */
    readonly get: (partition: Partition.Partition, hash: string, now: number) => FoundKey | undefined
    /** Increases with every invalidation. `set` ignores a result that was read under an older generation. */
    readonly generation: () => number
    readonly set: (
      partition: Partition.Partition,
      hash: string,
      value: CacheValue,
      now: number,
      generation: number
    ) => void
    /**
     * Runs a change and then invalidates its partition, whether the change succeeds or fails. With the cache enabled, the
     * change is uninterruptible; disabled, it runs as it is.
     */
    readonly invalidateAfter: <A, E, R>(
      partition: Partition.Partition,
      change: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E, R>
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
    return Layer.effect(
      VerifyCache,
      Effect.gen(function* () {
        let hits = 0
        let misses = 0
        const entries = new Map<string, CacheEntry>()
        const keysByPartition = new Map<Partition.Partition, Set<string>>()
        let generation = 0
        let totalBytes = 0
        const evict = (key: string, { partition, bytes: evictedBytes }: CacheEntry) => {
          entries.delete(key)
          totalBytes -= evictedBytes
          const keys = keysByPartition.get(partition)
          keys?.delete(key)
          if (keys?.size === 0) keysByPartition.delete(partition)
        }
        const invalidate = (partition: Partition.Partition) => {
          generation++
          for (const key of keysByPartition.get(partition) ?? []) {
            const entry = entries.get(key)
            if (entry !== undefined) evict(key, entry)
          }
        }
        yield* observeScoped(instruments.cacheLookups, () => hits, { "tollgate.result": "hit" })
        yield* observeScoped(instruments.cacheLookups, () => misses, { "tollgate.result": "miss" })
        yield* observeScoped(instruments.cacheEntries, () => entries.size)
        return VerifyCache.of({
          enabled: true,
          get: (partition, hash, now) => {
            const entry = entries.get(`${partition} ${hash}`)
            if (entry === undefined || entry.expiresAt <= now) {
              misses++
              return undefined
            }
            hits++
            return entry.result
          },
          generation: () => generation,
          set: (partition, hash, value, now, generationAtRead) => {
            if (generationAtRead !== generation) return
            const key = `${partition} ${hash}`
            const existing = entries.get(key)
            if (existing !== undefined) evict(key, existing)
            for (const [oldestKey, oldest] of entries) {
              if (entries.size < capacity && totalBytes + value.bytes <= maxBytes) break
              evict(oldestKey, oldest)
            }
            entries.set(key, { ...value, partition, expiresAt: now + ttl })
            totalBytes += value.bytes
            keysByPartition.set(partition, (keysByPartition.get(partition) ?? new Set()).add(key))
          },
          // Uninterruptible: an interrupted commit may still be applied after the invalidation, and the cache would be
          // stale.
          invalidateAfter: (partition, change) =>
            Effect.uninterruptible(
              Effect.ensuring(
                change,
                Effect.sync(() => invalidate(partition))
              )
            )
        })
      })
    )
  }
}
