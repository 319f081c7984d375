/**
 * When a delivery that failed is sent again: ten attempts in about three days, as Standard Webhooks recommends.
 */
import { Clock, Effect, Random } from "effect"

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

const delays: ReadonlyArray<number> = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour
]

/** Spreads the retries of deliveries that failed together, by up to this share of the delay in both directions. */
const jitter = 0.1

const maxRetryAfter = 24 * hour

/** A date as HTTP servers send it. `Date.parse` alone also accepts texts such as "1". */
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** The delay that a `Retry-After` header asks for: 0 if its value is neither seconds nor a date. */
const parseRetryAfter = (value: string, now: number): number => {
  if (/^\d+$/.test(value)) return Number(value) * second
  const date = httpDate.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? 0 : date - now
}

export interface RetryOptions {
  /** From 0 to 1. */
  readonly random: number
  /** The value of the header `Retry-After`. It can lengthen the delay to up to 24 hours, and never shortens it. */
  readonly retryAfter?: string | undefined
  /** Milliseconds since 1970. */
  readonly now: number
}

/** Milliseconds until the next attempt, or `undefined` if there is none. */
export const computeRetryDelay = (
  failedAttempts: number,
  { random, retryAfter = "", now }: RetryOptions
): number | undefined => {
  const delay = delays[failedAttempts - 1]
  if (delay === undefined) return undefined
  const spread = Math.round(delay * (1 - jitter + 2 * jitter * random))
  return Math.max(spread, Math.min(parseRetryAfter(retryAfter.trim(), now), maxRetryAfter))
}

/** Like `computeRetryDelay`, with the clock and the random numbers of the fiber. */
export const nextRetryDelay = (
  failedAttempts: number,
  retryAfter?: string | undefined
): Effect.Effect<number | undefined> =>
  Effect.zipWith(Random.next, Clock.currentTimeMillis, (random, now) =>
    computeRetryDelay(failedAttempts, { random, retryAfter, now })
  )
