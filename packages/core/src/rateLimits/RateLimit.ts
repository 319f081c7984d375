/**
 * A rate limit: `limit` requests in each `per`, and up to `burst` of them at once.
 */
import { Schema } from "effect"

const millisPerUnit = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000 }
const maxPer = 31 * millisPerUnit.day

/** The span in which `limit` requests are allowed: a unit, or a number of milliseconds. */
export const Per = Schema.Union([
  Schema.Literals(["second", "minute", "hour", "day"]),
  Schema.Int.pipe(
    Schema.check(
      Schema.isBetween(
        { minimum: 1, maximum: maxPer },
        { expected: '"second", "minute", "hour", "day", or 1 to 2678400000 milliseconds (31 days)' }
      )
    )
  )
])
type Per = typeof Per.Type

const toMillis = (per: Per): number => (typeof per === "number" ? per : millisPerUnit[per])

const Amount = Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })))

interface RateLimitValue {
  readonly limit: number
  readonly per: Per
  readonly burst?: number | undefined
}

/** The microseconds in which one request becomes available. Rounded up, so that never more than `limit` are allowed. */
const getInterval = ({ limit, per }: RateLimitValue): number => Math.ceil((toMillis(per) * 1_000) / limit)

const maxPerMillisecond = 50
const maxBurstTime = 366 * millisPerUnit.day * 1_000

/** What the store cannot count exactly. */
const findProblem = (rateLimit: RateLimitValue) => {
  const { limit, per, burst = limit } = rateLimit
  if (limit > maxPerMillisecond * toMillis(per)) return { path: ["limit"], issue: "must be at most 50,000 a second" }
  return burst * getInterval(rateLimit) <= maxBurstTime
    ? undefined
    : { path: ["burst"], issue: "must be less: the burst would take more than 366 days to become available again" }
}

export const rateLimitFields = { limit: Amount, per: Per, burst: Schema.optionalKey(Amount) }
export const rateLimitCheck = Schema.makeFilter<RateLimitValue>(findProblem)

/** A rate limit of a plan. */
export const RateLimit = Schema.Struct(rateLimitFields)
  .pipe(Schema.check(rateLimitCheck))
  .annotate({ identifier: "RateLimit" })
export type RateLimit = typeof RateLimit.Type

/** A rate limit with its name, in numbers. */
export interface RateLimitPolicy {
  readonly name: string
  readonly limit: number
  /** In milliseconds. */
  readonly per: number
  readonly burst: number
  /** The microseconds in which one request becomes available. */
  readonly interval: number
}

export const toPolicy = (name: string, rateLimit: RateLimitValue): RateLimitPolicy => {
  const { limit, per, burst = limit } = rateLimit
  return { name, limit, per: toMillis(per), burst, interval: getInterval(rateLimit) }
}

/** Of two limits with the same name, the one with the higher rate; of equal rates, the one with the larger burst. */
export const selectHigher = (left: RateLimitPolicy, right: RateLimitPolicy): RateLimitPolicy => {
  const difference = left.limit * right.per - right.limit * left.per
  return difference > 0 || (difference === 0 && left.burst >= right.burst) ? left : right
}
