/**
 * Four processes on one rate limit, in every store that processes can share: never more than burst + rate × time, and at
 * least 90 % of that if they attempt half as many again. On a machine that is too slow for this, attempts are missing while
 * the processes warm up, and what a full limit would have allowed meanwhile is lost: then 75 % is enough.
 */
import { runWorkers } from "@tollgate/testing"
import { Effect } from "effect"
import { expect, it } from "vitest"
import type { RateLimit, RateLimiterInput, RateLimitUse } from "./rateLimiter.worker.ts"
import { type SharedStore, sharedStoreKinds, startSharedStore } from "./sharedStores.ts"

const durationMs = 5_000

/**
 * The processes attempt in waves, as the store answers, and a busy machine can hold up all of them for a second. The burst
 * is larger than a wave, and lasts for two seconds, so that the limit does not fill up in between.
 */
const limits: ReadonlyArray<RateLimit> = [
  { name: "1 per minute", interval: 60_000_000, burst: 10, concurrency: 2 },
  { name: "200 per second", interval: 5_000, burst: 400, concurrency: 4 },
  { name: "10,000 per second", interval: 100, burst: 20_000, concurrency: 32 }
]

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, number) => total + number, 0)

const runLimits = async (shared: SharedStore) => {
  const input: RateLimiterInput = { shared, durationMs, limits }
  const workers = await runWorkers<ReadonlyArray<RateLimitUse>>(
    new URL("./rateLimiter.worker.ts", import.meta.url),
    Array.from({ length: 4 }, () => input)
  )
  for (const [index, { name, interval, burst }] of limits.entries()) {
    const uses = workers.flatMap((uses) => uses[index] ?? [])
    const attempts = sum(uses.map(({ attempts }) => attempts))
    const admitted = sum(uses.map(({ admitted }) => admitted))
    const elapsed = Math.max(...uses.map(({ end }) => end)) - Math.min(...uses.map(({ start }) => start))
    const allowed = burst + Math.floor(elapsed / interval)
    console.log(
      `${shared.store}, 4 processes, ${name}, burst ${burst}: ${admitted} of ${attempts} attempts admitted in ` +
        `${Math.round(elapsed / 1_000)} ms, ${allowed} allowed`
    )
    expect(uses.length).toBe(4)
    expect(admitted).toBeLessThanOrEqual(allowed)
    const minimum = attempts >= 1.5 * allowed ? 0.9 * allowed : 0.75 * Math.min(allowed, attempts)
    expect(admitted).toBeGreaterThanOrEqual(minimum)
  }
}

it.each(sharedStoreKinds)("four processes on one %s store never exceed a rate limit, and use it", (kind) =>
  Effect.runPromise(
    Effect.scoped(Effect.flatMap(startSharedStore(kind), (shared) => Effect.promise(() => runLimits(shared))))
  )
)
