import { Change, Partition, StoreConflict, StoreUnavailable } from "@tollgate/store"
import { runAsWorker } from "@tollgate/testing"
import { Effect } from "effect"
import { openSharedStore, type SharedStore } from "./sharedStores.ts"

export interface RateLimit {
  readonly name: string
  /** In microseconds. */
  readonly interval: number
  readonly burst: number
  /** How many takes each process has in flight. */
  readonly concurrency: number
}

export interface RateLimiterInput {
  readonly shared: SharedStore
  readonly durationMs: number
  readonly limits: ReadonlyArray<RateLimit>
}

export interface RateLimitUse {
  readonly attempts: number
  readonly admitted: number
  /** Before the first attempt and after the last answer: microseconds of the machine's monotonic clock. */
  readonly start: number
  readonly end: number
}

const now = (): number => Number(process.hrtime.bigint() / 1_000n)

/** Takes from the limits as fast as the store answers. Returns the use of each limit. */
runAsWorker(async ({ shared, durationMs, limits }: RateLimiterInput) => {
  const store = await openSharedStore(shared)
  const use = async ({ name, interval, burst, concurrency }: RateLimit): Promise<RateLimitUse> => {
    const partition = Partition.forKeyBucket("limits", name)
    const take = store.commit(partition, [Change.Take({ counter: name, cost: 1, interval, burst, ttl: 86_400_000 })])
    const attempt = Effect.match(take, {
      onFailure: (error) => {
        // On a slow disk, a process may not get SQLite's lock for 5 seconds. It has then taken nothing.
        const isLocked = error instanceof StoreUnavailable && error.retryable && error.outcome === "not-applied"
        if (!(error instanceof StoreConflict || isLocked)) throw error
        return false
      },
      onSuccess: () => true
    })
    const start = now()
    let [attempts, admitted] = [0, 0]
    const repeat = async () => {
      while (now() < start + durationMs * 1_000) {
        attempts++
        if (await Effect.runPromise(attempt)) admitted++
      }
    }
    await Promise.all(Array.from({ length: concurrency }, repeat))
    return { attempts, admitted, start, end: now() }
  }
  const uses = await Promise.all(limits.map(use))
  await store.close()
  return uses
})
