/**
 * Cases of rate limits that set the time. For stores that use the caller's clock.
 */
import { deepEqual, equal } from "node:assert/strict"
import { hour, type ManualRateLimitProgram, take } from "./rateLimitCases.ts"

const times = (count: number) => Array.from({ length: count }, (_, index) => index)
const day = 24 * hour

export const callerRateLimits: Record<string, ManualRateLimitProgram> = {
  *"waiting as long as reported is enough, and a microsecond less is not"({ takeTotal, getRetryAfter, time }) {
    const limit = { interval: 12_345, burst: 4 }
    for (const _ of times(4)) yield* takeTotal(take("l", limit))
    for (const cost of [1, 4, 3, 1, 2]) {
      const attempt = take("l", { ...limit, cost })
      const retryAfter = yield* getRetryAfter([attempt])
      equal(retryAfter, cost * 12_345)
      yield* time.advance(retryAfter - 1)
      equal(yield* getRetryAfter([attempt]), 1)
      yield* time.advance(1)
      equal(yield* takeTotal(attempt), 4 * 12_345)
    }
  },

  *"a limit does not drift, however often it is taken"({ takeTotal, getRetryAfter, time }) {
    const limit = { interval: 333, burst: 2 }
    yield* takeTotal(take("l", { ...limit, cost: 2 }))
    for (const _ of times(150)) {
      yield* time.advance(332)
      equal(yield* getRetryAfter([take("l", limit)]), 1)
      yield* time.advance(1)
      equal(yield* takeTotal(take("l", limit)), 666)
    }
  },

  *"a limit becomes full after burst intervals, whatever the pauses between"({ takeTotal, getRetryAfter, time }) {
    const limit = { interval: 1_000, burst: 3 }
    equal(yield* takeTotal(take("l", { ...limit, cost: 3 })), 3_000)
    yield* time.advance(1_500)
    equal(yield* takeTotal(take("l", limit)), 2_500)
    yield* time.advance(2_499)
    equal(yield* getRetryAfter([take("l", { ...limit, cost: 3 })]), 1)
    yield* time.advance(1)
    equal(yield* takeTotal(take("l", { ...limit, cost: 3 })), 3_000)
    // Idle time beyond that is lost.
    yield* time.advance(500_000_001)
    for (const taken of [1, 2, 3]) equal(yield* takeTotal(take("l", limit)), taken * 1_000)
    equal(yield* getRetryAfter([take("l", limit)]), 1_000)
  },

  *"a limit is exact after a year, and in a year's time"({ takeTotal, getRetryAfter, time }) {
    const [slow, fast] = [
      { interval: 31 * day, burst: 11 },
      { interval: 1_001, burst: 2 }
    ]
    for (const _ of times(11)) yield* takeTotal(take("slow", slow))
    yield* takeTotal(take("fast", fast))
    yield* time.advance(330 * day + 1)
    equal(yield* takeTotal(take("slow", slow)), 42 * day - 1)
    yield* time.advance(35 * day)
    equal(yield* takeTotal(take("slow", slow)), 38 * day - 1)
    equal(yield* takeTotal(take("fast", fast)), 1_001)
    equal(yield* takeTotal(take("fast", fast)), 2_002)
    yield* time.advance(1_000)
    equal(yield* getRetryAfter([take("fast", fast)]), 1)
    yield* time.advance(1)
    equal(yield* takeTotal(take("fast", fast)), 2_002)
  },

  *"a limit is exact at times of 16 digits"({ takeTotal, getRetryAfter, time, clock }) {
    // The year 2041, in microseconds.
    clock.advance(2 ** 51 + 1 - Number(clock.currentTimeNanosUnsafe() / 1_000n))
    const limits = { fast: { interval: 21, burst: 3 }, slow: { interval: 366 * day, burst: 1 } }
    equal(yield* takeTotal(take("fast", { ...limits.fast, cost: 3 })), 63)
    yield* time.advance(20)
    equal(yield* getRetryAfter([take("fast", limits.fast)]), 1)
    yield* time.advance(1)
    equal(yield* takeTotal(take("fast", limits.fast)), 63)
    equal(yield* takeTotal(take("slow", limits.slow)), 366 * day)
    yield* time.advance(365 * day + 7)
    equal(yield* getRetryAfter([take("slow", limits.slow)]), day - 7)
  },

  *"a clock that is set back neither blocks a limit nor opens it"({ commit, takeTotal, getRetryAfter, time, clock }) {
    const limit = { interval: 10_000_000, burst: 2, ttl: 20_000 }
    const attempt = take("l", limit)
    for (const _ of times(2)) yield* takeTotal(attempt)
    clock.setWall(-hour)
    equal(yield* getRetryAfter([attempt]), 10_000_000)
    yield* time.advance(9_999_999)
    equal(yield* getRetryAfter([attempt]), 1)
    yield* time.advance(1)
    equal(yield* takeTotal(attempt), 20_000_000)
    equal((yield* commit([take("new", limit)])).totals.get("new"), 10_000_000)
    clock.setWall(hour)
    equal(yield* getRetryAfter([attempt]), 10_000_000)
    deepEqual((yield* commit([take("new", limit)])).totals, new Map([["new", 20_000_000]]))
  }
}
