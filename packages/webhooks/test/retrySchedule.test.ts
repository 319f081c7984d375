import { assert, describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { TestClock } from "effect/testing"
import { computeRetryDelay, nextRetryDelay } from "../src/retrySchedule.ts"

const hour = 3_600_000
const day = 24 * hour
const now = Date.UTC(2030, 0, 1)
const middle = { random: 0.5, now }

describe("computeRetryDelay", () => {
  it("gives the nine delays, and none after the tenth attempt", () => {
    const delays = Array.from({ length: 10 }, (_, index) => computeRetryDelay(index + 1, middle))
    assert.deepStrictEqual(delays, [
      5_000,
      300_000,
      1_800_000,
      2 * hour,
      5 * hour,
      10 * hour,
      14 * hour,
      20 * hour,
      day,
      undefined
    ])
  })

  it("spreads a delay by a tenth in both directions", () => {
    assert.strictEqual(computeRetryDelay(2, { random: 0, now }), 270_000)
    assert.strictEqual(computeRetryDelay(2, { random: 1, now }), 330_000)
  })

  const retryAfter: ReadonlyArray<readonly [value: string, failedAttempts: number, delay: number]> = [
    ["120", 1, 120_000],
    [" 120 ", 1, 120_000],
    ["2", 1, 5_000],
    ["0", 1, 5_000],
    ["86401", 1, day],
    ["99999999999999999999999999", 1, day],
    ["9".repeat(400), 1, day],
    ["Tue, 01 Jan 2030 00:10:00 GMT", 1, 600_000],
    ["Mon, 31 Dec 2029 23:00:00 GMT", 1, 5_000],
    ["Fri, 01 Feb 2030 00:00:00 GMT", 1, day],
    ["Fri, 99 Feb 2030 00:00:00 GMT", 1, 5_000],
    ["2030-01-01T01:00:00Z", 1, 5_000],
    ["-120", 1, 5_000],
    ["1.5e3", 1, 5_000],
    ["0x100", 1, 5_000],
    ["soon", 1, 5_000],
    ["", 1, 5_000],
    ["60", 4, 2 * hour]
  ]
  for (const [value, failedAttempts, delay] of retryAfter) {
    it(`waits ${delay} ms after ${failedAttempts} failed attempts with Retry-After: ${value.slice(0, 40)}`, () => {
      assert.strictEqual(computeRetryDelay(failedAttempts, { ...middle, retryAfter: value }), delay)
    })
  }

  it("does not give another attempt because of Retry-After", () => {
    assert.isUndefined(computeRetryDelay(10, { ...middle, retryAfter: "5" }))
  })
})

describe("nextRetryDelay", () => {
  it.effect("takes the time and the random number from the fiber", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const expected = yield* Random.next.pipe(Random.withSeed("seed"))
      const delay = yield* nextRetryDelay(3).pipe(Random.withSeed("seed"))
      assert.strictEqual(delay, computeRetryDelay(3, { random: expected, now }))
      assert.strictEqual(yield* nextRetryDelay(1, "Tue, 01 Jan 2030 00:10:00 GMT"), 600_000)
    })
  )
})
