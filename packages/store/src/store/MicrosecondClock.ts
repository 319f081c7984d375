/**
 * The time in microseconds for the rate limits of a store without a server of its own, and for the expiry of its counters.
 *
 * It starts at the wall clock and then counts with the monotonic clock, so setting the wall clock neither blocks a limit
 * nor opens it. The clocks of two processes on one machine differ by less than a millisecond, or by what the wall clock
 * was set in between their starts; a process that is behind catches up.
 */
import { type Clock, Effect } from "effect"

/**
 * - `monotonic`: as described above
 * - `caller`: moves forward as far as the wall clock does, which fake timers set. For tests
 */
export type ClockSource = "monotonic" | "caller"

/** The wall clock to the millisecond, in microseconds. */
const readWholeMilliseconds = (clock: Clock.Clock): number => Math.floor(clock.currentTimeMillisUnsafe() * 1_000)

/** Fake timers set its milliseconds. Its microseconds stay those of real time, so they are not read. */
const processClock = Effect.runSync(Effect.clockWith(Effect.succeed))

/** The wall clock. */
const readWall = (clock: Clock.Clock): number => {
  const start = readWholeMilliseconds(clock)
  if (clock === processClock) return start
  const micros = Number(clock.currentTimeNanosUnsafe() / 1_000n)
  return micros >= start && micros < start + 1_000 ? micros : start
}

/** The time in microseconds, for the rate limits and counters of a store that has no server's clock. */
export class MicrosecondClock {
  readonly #source: ClockSource
  /** The difference between this clock and the monotonic clock, for each `Clock`: their monotonic times differ. */
  readonly #offsets = new WeakMap<Clock.Clock, number>()
  /** With `caller`: the latest time, and both clocks when it was read. */
  readonly #latest = new WeakMap<
    Clock.Clock,
    { readonly time: number; readonly wall: number; readonly monotonic: number }
  >()

  constructor(source: ClockSource = "monotonic") {
    this.#source = source
  }

  /**
   * `earliest`: a time that has certainly passed, for example because another process, whose clock is ahead, has
   * written it. This clock catches up with it.
   */
  read(clock: Clock.Clock, earliest = Number.NEGATIVE_INFINITY): number {
    if (this.#source === "caller") return this.#followWall(clock, earliest)
    const monotonic = Number(clock.monotonicTimeNanosUnsafe() / 1_000n)
    const previous = this.#offsets.get(clock)
    const offset = Math.max(previous ?? readWholeMilliseconds(clock) - monotonic, earliest - monotonic)
    if (offset !== previous) this.#offsets.set(clock, offset)
    return monotonic + offset
  }

  /**
   * A wall clock that was set back counts on from there, but only as far as the monotonic clock confirms: setting it
   * forward again is no progress.
   */
  #followWall(clock: Clock.Clock, earliest: number): number {
    const wall = readWall(clock)
    const monotonic = Number(clock.monotonicTimeNanosUnsafe() / 1_000n)
    const latest = this.#latest.get(clock) ?? { time: wall, wall, monotonic }
    const progress = Math.max(0, Math.min(wall - latest.wall, monotonic - latest.monotonic))
    const time = Math.max(latest.time + progress, wall, earliest)
    this.#latest.set(clock, { time, wall, monotonic })
    return time
  }

  readMillis(clock: Clock.Clock): number {
    return Math.floor(this.read(clock) / 1_000)
  }
}
