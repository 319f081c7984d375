/**
 * A rate limit: `limit` requests in each `per`, and up to `burst` of them at once.
 */

import { maxTimeUntilFull } from "@tollgate/store/internal"
import { Schema } from "effect"

const millisPerUnit = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000 }
const maxPer = 31 * millisPerUnit.day

/** Says what is possible: each member of the union would name only itself. */
const perMessage = { message: `must be "second", "minute", "hour", "day", or 1 to ${maxPer} milliseconds (31 days)` }

/** The span in which `limit` requests are allowed: a unit, or a number of milliseconds. */
const Per = Schema.Union([
  Schema.Literals(["second", "minute", "hour", "day"]).annotate(perMessage),
  Schema.Number.annotate(perMessage).pipe(
    Schema.check(Schema.isInt(perMessage), Schema.isBetween({ minimum: 1, maximum: maxPer }, perMessage))
  )
]).annotate(perMessage)
type Per = typeof Per.Type

const toMillis = (per: Per): number => (typeof per === "number" ? per : millisPerUnit[per])

/** A number of requests. */
export const RequestCount = Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })))

interface RateLimitValue {
  readonly limit: number
  readonly per: Per
  readonly burst?: number | undefined
}

/** The microseconds in which one request becomes available. Rounded up, so that never more than `limit` are allowed. */
const getInterval = ({ limit, per }: RateLimitValue): number => Math.ceil((toMillis(per) * 1_000) / limit)

const maxPerMillisecond = 50

/** What the store cannot count exactly. */
const findProblem = (rateLimit: RateLimitValue) => {
  const { limit, per, burst = limit } = rateLimit
  if (limit > maxPerMillisecond * toMillis(per)) return { path: ["limit"], issue: "must be at most 50,000 a second" }
  return burst * getInterval(rateLimit) <= maxTimeUntilFull
    ? undefined
    : { path: ["burst"], issue: "must be less: the burst would take more than 366 days to become available again" }
}

export const rateLimitFields = { limit: RequestCount, per: Per, burst: Schema.optionalKey(RequestCount) }
export const rateLimitCheck = Schema.makeFilter<RateLimitValue>(findProblem)

/** A rate limit of a plan. */
export const RateLimit = Schema.Struct(rateLimitFields)
  .annotate({ message: 'must be an object such as { "limit": 10, "per": "second" }' })
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

/** A rate limit with all its numbers, under the name that outsiders know it by. */
export const toPolicy = (name: string, rateLimit: RateLimitValue): RateLimitPolicy => {
  const { limit, per, burst = limit } = rateLimit
  return { name, limit, per: toMillis(per), burst, interval: getInterval(rateLimit) }
}

/** Of two limits with the same name, the one with the higher rate; of equal rates, the one with the larger burst. */
export const selectHigher = (left: RateLimitPolicy, right: RateLimitPolicy): RateLimitPolicy => {
  const difference = left.limit * right.per - right.limit * left.per
  return difference > 0 || (difference === 0 && left.burst >= right.burst) ? left : right
}
