/**
 * The time for the rate limits of a store without a server of its own.
 */
import type { Clock } from "effect"

/** The wall clock has whole milliseconds. A smaller lead over the monotonic clock is that rounding, not progress. */
const wallResolution = 1_000

/**
 * The time for the rate limits of a store without a server: the caller's clock in microseconds, which follows the wall
 * clock forwards, and continues with the monotonic clock while the wall clock is behind. Because it never goes back, a
 * clock that is set back neither blocks a limit nor opens it. The clocks of two processes on one machine differ by less
 * than a millisecond.
 */
export class MicrosecondClock {
  /** The difference between this clock and the monotonic clock, for each `Clock`: their monotonic times differ. */
  readonly #offsets = new WeakMap<Clock.Clock, number>()

  /**
   * `earliest`: a time that has certainly passed, for example because another process, whose clock is ahead, has
   * written it. This clock catches up with it.
   */
  read(clock: Clock.Clock, earliest = Number.NEGATIVE_INFINITY): number {
    const monotonic = Number(clock.monotonicTimeNanosUnsafe() / 1_000n)
    const wall = Math.floor(clock.currentTimeMillisUnsafe() * 1_000)
    const previous = this.#offsets.get(clock) ?? Number.NEGATIVE_INFINITY
    const hasWallJumped = wall - (monotonic + previous) >= wallResolution
    const offset = Math.max(hasWallJumped ? wall - monotonic : previous, earliest - monotonic)
    if (offset !== previous) this.#offsets.set(clock, offset)
    return monotonic + offset
  }
}
