/**
 * The time in microseconds for the rate limits of a store without a server of its own, and for the expiry of its counters.
 *
 * It starts at the wall clock and then counts with the monotonic clock, so setting the wall clock neither blocks a limit
 * nor opens it. The clocks of two processes on one machine differ by less than a millisecond, or by what the wall clock
 * was set in between their starts; a process that is behind catches up.
 */
import type { Clock } from "effect"

/**
 * - `monotonic`: as described above
 * - `caller`: the wall clock, which fake timers move; it stands still while that is behind. For tests
 */
export type ClockSource = "monotonic" | "caller"

const readWall = (clock: Clock.Clock): number => Math.floor(clock.currentTimeMillisUnsafe() * 1_000)

/**
 * The clock of rate limits and expiries for a store without a server of its own. It counts with the monotonic clock, so
 * it never goes back.
 */
export class MicrosecondClock {
  readonly #source: ClockSource
  /** The difference between this clock and the monotonic clock, for each `Clock`: their monotonic times differ. */
  readonly #offsets = new WeakMap<Clock.Clock, number>()
  /** The latest time that was read, with `caller`. */
  readonly #latest = new WeakMap<Clock.Clock, number>()

  constructor(source: ClockSource = "monotonic") {
    this.#source = source
  }

  /**
   * `earliest`: a time that has certainly passed, for example because another process, whose clock is ahead, has
   * written it. This clock catches up with it.
   */
  read(clock: Clock.Clock, earliest = Number.NEGATIVE_INFINITY): number {
    if (this.#source === "caller") {
      const wall = readWall(clock)
      const latest = Math.max(this.#latest.get(clock) ?? wall, wall, earliest)
      this.#latest.set(clock, latest)
      return latest
    }
    const monotonic = Number(clock.monotonicTimeNanosUnsafe() / 1_000n)
    const previous = this.#offsets.get(clock)
    const offset = Math.max(previous ?? readWall(clock) - monotonic, earliest - monotonic)
    if (offset !== previous) this.#offsets.set(clock, offset)
    return monotonic + offset
  }

  readMillis(clock: Clock.Clock): number {
    return Math.floor(this.read(clock) / 1_000)
  }
}
