/**
 * How the cases of the contract control time. A store without a server reads Effect's `Clock`, so its cases run on a
 * `ManualClock` and expect exact durations. The clock of a server cannot be set, so its cases wait in real time, and
 * accept that time passes while they run.
 */
import { equal, ok } from "node:assert/strict"
import { Clock, type Duration, Effect } from "effect"

/** Whose clock the store uses for rate limits: that of its caller, which is Effect's `Clock`, or that of a server. */
export type ClockSource = "caller" | "server"

export interface ContractTime {
  /** Lets this many microseconds pass. */
  readonly advance: (microseconds: number) => Effect.Effect<void>
  /** Asserts a duration in microseconds that shrinks while the case runs. */
  readonly equal: (actual: number | undefined, expected: number) => void
}

/** A clock that moves only when a test moves it. It sleeps in real time. */
export class ManualClock implements Clock.Clock {
  /** Microseconds. Not a whole millisecond, so that a store that rounds is caught. */
  #monotonic = 5_000_000_137
  #wall: number

  constructor(start = 1_800_000_000_000_137) {
    this.#wall = start
  }

  advance(microseconds: number): void {
    this.#monotonic += microseconds
    this.#wall += microseconds
  }

  /** Sets the wall clock forward, or back if the amount is negative. The monotonic clock is not affected. */
  setWall(microseconds: number): void {
    this.#wall += microseconds
  }

  currentTimeMillisUnsafe(): number {
    return Math.floor(this.#wall / 1_000)
  }
  currentTimeNanosUnsafe(): bigint {
    return BigInt(this.#wall) * 1_000n
  }
  monotonicTimeNanosUnsafe(): bigint {
    return BigInt(this.#monotonic) * 1_000n
  }
  readonly currentTimeMillis = Effect.sync(() => this.currentTimeMillisUnsafe())
  readonly currentTimeNanos = Effect.sync(() => this.currentTimeNanosUnsafe())
  readonly monotonicTimeNanos = Effect.sync(() => this.monotonicTimeNanosUnsafe())
  sleep(duration: Duration.Duration): Effect.Effect<void> {
    return Clock.Clock.defaultValue().sleep(duration)
  }
}

export const makeManualTime = (clock: ManualClock): ContractTime => ({
  advance: (microseconds) => Effect.sync(() => clock.advance(microseconds)),
  equal: (actual, expected) => equal(actual, expected)
})

const now = (): number => performance.now() * 1_000

/** Clocks of different machines do not run equally fast. */
const tolerance = 1.01

export const makeServerTime = (): ContractTime => {
  const start = now()
  return {
    advance: (microseconds) =>
      Effect.promise(async () => {
        const end = now() + microseconds * tolerance
        while (now() < end) await new Promise(setImmediate)
      }),
    equal: (actual = Number.NaN, expected) => {
      const earliest = expected - (now() - start) * tolerance - 1_000
      ok(actual <= expected && actual >= earliest, `${actual} should be between ${earliest} and ${expected}`)
    }
  }
}
