/**
 * Cases of rate limits that wait in real time. For stores that use the clock of a server.
 */
import { equal, ok } from "node:assert/strict"
import { StoreConflict } from "@tollgate/store"
import { Effect, Result } from "effect"
import { type RateLimitFixture, type RateLimitProgram, take } from "./rateLimitCases.ts"

const now = (): number => performance.now() * 1_000

/** Takes until the limit refuses, which a slow machine may delay. Returns the time of the last attempt, and its result. */
const waitForRefusal = Effect.fnUntraced(function* ({ commit }: RateLimitFixture, change: ReturnType<typeof take>) {
  for (let attempt = 0; attempt < 100; attempt++) {
    const attemptedAt = now()
    const outcome = yield* Effect.result(commit([change]))
    if (Result.isSuccess(outcome)) continue
    if (outcome.failure instanceof StoreConflict) return { attemptedAt, retryAfter: outcome.failure.retryAfter }
    return yield* outcome.failure
  }
  return yield* Effect.die(new Error("The limit never refused"))
})

export const serverRateLimits: Record<string, RateLimitProgram> = {
  *"a refused take succeeds after the reported time, and not before"(fixture) {
    const change = take("l", { interval: 30_000, burst: 1 })
    for (let round = 0; round < 3; round++) {
      const { attemptedAt, retryAfter } = yield* waitForRefusal(fixture, change)
      ok(retryAfter > 0 && retryAfter <= 30_000, `${retryAfter}`)
      while (!(yield* Effect.isSuccess(fixture.commit([change]))));
      const waited = now() - attemptedAt
      ok(waited >= retryAfter * 0.99 - 1_000, `allowed after ${waited} of ${retryAfter} microseconds`)
    }
    const { retryAfter } = yield* waitForRefusal(fixture, change)
    yield* fixture.time.advance(retryAfter)
    equal(yield* fixture.takeTotal(change), 30_000)
  },

  *"a limit recovers at its rate, without drift"({ takeTotal, time }) {
    const [interval, count, pause] = [20_000, 40, 1_000]
    for (let taken = 1; taken < count; taken++) {
      yield* takeTotal(take("l", { interval, burst: 1_000 }))
      yield* time.advance(pause)
    }
    const total = (yield* takeTotal(take("l", { interval, burst: 1_000 }))) ?? 0
    // Time passed during the case, and at least for the pauses.
    time.equal(total, count * interval)
    ok(total <= count * interval - (count - 1) * pause, `${total}`)
  }
}
