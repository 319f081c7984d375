import { assert, describe, it, vi } from "@effect/vitest"
import { MicrosecondClock } from "@tollgate/store"
import { ManualClock } from "@tollgate/store-testkit"
import { Effect, Schema } from "effect"
import { take } from "../src/store/gcra.ts"

const start = 1_800_000_000_000_000
const hour = 3_600_000_000

describe("MicrosecondClock", () => {
  it("starts at the wall clock, and counts microseconds with the monotonic clock", () => {
    const [clock, microseconds] = [new ManualClock(start + 700), new MicrosecondClock()]
    const first = microseconds.read(clock)
    assert.strictEqual(first, start)
    // The wall clock moves on to the next millisecond in between, which is not additional progress.
    for (let elapsed = 1; elapsed <= 5_000; elapsed++) {
      clock.advance(1)
      assert.strictEqual(microseconds.read(clock), first + elapsed)
    }
  })

  it("does not follow a wall clock that is set", () => {
    const [clock, microseconds] = [new ManualClock(start), new MicrosecondClock()]
    microseconds.read(clock)
    for (const amount of [hour, -3 * hour, 5 * hour]) {
      clock.setWall(amount)
      assert.strictEqual(microseconds.read(clock), start)
    }
    clock.advance(7)
    assert.strictEqual(microseconds.read(clock), start + 7)
  })

  it("moves only with the wall clock, if the source is the caller: a test moves it exactly as far as it says", () => {
    const [clock, microseconds] = [new ManualClock(start), new MicrosecondClock("caller")]
    assert.strictEqual(microseconds.read(clock), start)
    // Real time passes while fake timers hold the wall clock.
    clock.advance(100_000)
    clock.setWall(-100_000)
    assert.strictEqual(microseconds.read(clock), start)
    clock.setWall(hour)
    assert.strictEqual(microseconds.read(clock), start + hour)
    clock.advance(3)
    assert.strictEqual(microseconds.read(clock), start + hour + 3)
  })

  it("moves only as far as fake timers set the clock of the process, also within a millisecond of real time", () => {
    vi.useFakeTimers({ toFake: ["Date"], now: start / 1_000 })
    const [clock, microseconds] = [Effect.runSync(Effect.clockWith(Effect.succeed)), new MicrosecondClock("caller")]
    for (let reading = 0; reading < 1_000; reading++) assert.strictEqual(microseconds.read(clock), start)
    vi.setSystemTime((start + hour) / 1_000)
    for (let reading = 0; reading < 1_000; reading++) assert.strictEqual(microseconds.read(clock), start + hour)
    vi.useRealTimers()
  })

  it("does not go back, and moves on with a wall clock that was set back, if the source is the caller", () => {
    const [clock, microseconds] = [new ManualClock(start), new MicrosecondClock("caller")]
    assert.strictEqual(microseconds.read(clock, start + 5), start + 5)
    clock.setWall(-hour)
    assert.strictEqual(microseconds.read(clock), start + 5)
    clock.advance(1_234_567)
    assert.strictEqual(microseconds.read(clock), start + 5 + 1_234_567)
    clock.setWall(hour)
    assert.strictEqual(microseconds.read(clock), start + 5 + 1_234_567)
  })

  it("catches up with another process that was ahead, and stays there", () => {
    const [clock, microseconds] = [new ManualClock(start), new MicrosecondClock()]
    microseconds.read(clock)
    assert.strictEqual(microseconds.read(clock, start - 5), start)
    assert.strictEqual(microseconds.read(clock, start + hour), start + hour)
    clock.advance(10)
    assert.strictEqual(microseconds.read(clock), start + hour + 10)
  })

  it("keeps the times of different Clocks apart", () => {
    const microseconds = new MicrosecondClock()
    const [one, two] = [new ManualClock(start + hour), new ManualClock(start)]
    assert.strictEqual(microseconds.read(one), start + hour)
    assert.strictEqual(microseconds.read(two), start)
    assert.strictEqual(microseconds.read(one), start + hour)
  })
})

describe("take", () => {
  const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
  const Attempts = Schema.Array(Schema.Struct({ pause: between(0, 40), cost: between(1, 3) }))

  interface Admission {
    readonly time: number
    readonly cost: number
  }

  const makeTake = (interval: number, burst: number, cost: number) =>
    ({ _tag: "Take", counter: "l", interval, burst, cost, ttl: 1 }) as const

  /** Whether every span that ends now has at most `burst` and what one admission per interval allows. */
  const holds = (admissions: ReadonlyArray<Admission>, interval: number, burst: number): boolean => {
    const now = admissions.at(-1)?.time ?? 0
    return admissions.every(({ time }, first) => {
      const taken = admissions.slice(first).reduce((sum, { cost }) => sum + cost, 0)
      return taken * interval <= burst * interval + (now - time)
    })
  }

  it.prop(
    "allows an attempt if and only if no span of time then exceeds the limit",
    [Attempts, between(1, 30), between(3, 6)],
    ([attempts, interval, burst]) => {
      const admissions: Array<Admission> = []
      let [now, fullAt] = [start, 0]
      for (const { pause, cost } of attempts) {
        now += pause
        const result = take(makeTake(interval, burst, cost), fullAt, now)
        const next = [...admissions, { time: now, cost }]
        assert.strictEqual(result.allowed, holds(next, interval, burst))
        if (result.allowed) {
          admissions.push({ time: now, cost })
          fullAt = result.fullAt
        } else {
          const later = (microseconds: number) => [...admissions, { time: now + microseconds, cost }]
          assert.isTrue(holds(later(result.retryAfter), interval, burst))
          assert.isFalse(holds(later(result.retryAfter - 1), interval, burst))
        }
      }
    }
  )

  it.prop("greedy use reaches the limit", [between(1, 50), between(1, 20), between(0, 2_000)], (input) => {
    const [interval, burst, duration] = input
    let [fullAt, taken] = [0, 0]
    for (let now = start; now <= start + duration; now++) {
      for (;;) {
        const result = take(makeTake(interval, burst, 1), fullAt, now)
        if (!result.allowed) break
        fullAt = result.fullAt
        taken++
      }
    }
    assert.strictEqual(taken, burst + Math.floor(duration / interval))
  })
})
