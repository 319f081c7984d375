/**
 * Takes requests from rate limits: the change of a commit for each limit, and what is left of it afterwards.
 */
import { hash } from "node:crypto"
import type { CommitResult, StoreConflict, Take } from "@tollgate/store/internal"
import type { RateLimitPolicy } from "./RateLimit.ts"
import { RateLimited } from "./RateLimitError.ts"
import type { HeaderPolicy } from "./rateLimitHeaders.ts"

/** A limit, and the change that takes from it. */
export interface RateLimitTake {
  readonly policy: RateLimitPolicy
  readonly change: Take
}

/** What is left of a rate limit. */
export interface RateLimitStatus extends HeaderPolicy {
  readonly name: string
  readonly limit: number
  /** In milliseconds. */
  readonly per: number
  readonly burst: number
  /** How many requests are possible now. */
  readonly remaining: number
  /** Milliseconds until as many as `burst` are possible again. */
  readonly resetAfterMs: number
}

const maxIdLength = 64

/** A counter outlives the time until its limit is full, because the clocks of processes differ. */
const gracePeriodMs = 60_000

/**
 * Takes from the limit whose requests have `id` in common. The identity of a limit is its counter: a limit with other
 * numbers starts full. Long ids are hashed, because the name of a counter is bounded. UTF-16 tells apart texts that are
 * not well-formed, which all have the same UTF-8.
 */
export const makeTake = (
  policy: RateLimitPolicy,
  kind: "consumer" | "key" | "value" | "subscription" | "client",
  id: string,
  cost: number
): RateLimitTake => {
  const { name, limit, per, burst, interval } = policy
  const subject =
    id.length <= maxIdLength && id.isWellFormed()
      ? `${kind}:${id}`
      : `${kind}#${hash("sha256", Buffer.from(id, "utf16le"), "base64url")}`
  const counter = `rate:${name}:${limit}:${per}:${burst}:${subject}`
  const ttl = Math.ceil((burst * interval) / 1_000) + gracePeriodMs
  return { policy, change: { _tag: "Take", counter, cost, interval, burst, ttl } }
}

/** What is left of each limit after the commit that took from it. */
export const toStatuses = (
  takes: ReadonlyArray<{ readonly policy: RateLimitPolicy; readonly change: Pick<Take, "counter"> }>,
  { totals }: CommitResult
): ReadonlyArray<RateLimitStatus> => {
  const statuses: Array<RateLimitStatus> = []
  for (const { policy, change } of takes) {
    const { name, limit, per, burst, interval } = policy
    const untilFull = totals.get(change.counter) ?? 0
    const remaining = Math.floor(burst - untilFull / interval)
    statuses.push({ name, limit, per, burst, remaining, resetAfterMs: Math.ceil(untilFull / 1_000) })
  }
  return statuses
}

/** The error for a commit that the store rejected because of one of these limits. */
export const toRateLimited = (
  takes: ReadonlyArray<RateLimitTake>,
  conflict: StoreConflict
): RateLimited | undefined => {
  const take = takes.find(({ change }) => change.counter === conflict.subject)
  if (take === undefined || conflict.reason !== "rate-limited") return undefined
  const { policy, change } = take
  const { name, limit, per } = policy
  const remaining = Math.max(0, Math.floor(change.cost - conflict.retryAfter / change.interval))
  const retryAfterMs = Math.ceil(conflict.retryAfter / 1_000)
  return new RateLimited({
    limit: name,
    retryAfterMs,
    policy: { name, limit, per, remaining, resetAfterMs: retryAfterMs }
  })
}
