/**
 * Rate limits of the store, as the generic cell rate algorithm (GCRA). Its whole state is one integer: the time in
 * microseconds at which the limit is full again. A `Take` moves that time back by `cost` intervals, and is refused if it
 * would then be more than `burst` intervals ahead of now. So in any span of T microseconds, at most
 * `burst + T / interval` are taken.
 *
 * The time comes from the server of the store if it has one, otherwise from `MicrosecondClock`.
 */
import type { Clock } from "effect"
import type { Change } from "./Store.ts"

type Take = Extract<Change, { readonly _tag: "Take" }>

export type TakeResult =
  /** `untilFull`: microseconds until the limit is full again. */
  | { readonly allowed: true; readonly fullAt: number; readonly untilFull: number }
  | { readonly allowed: false; readonly retryAfter: number }

/** `fullAt` is the stored state, or 0 if there is none. */
export const take = ({ cost, interval, burst }: Take, fullAt: number, now: number): TakeResult => {
  const nextFullAt = Math.max(fullAt, now) + cost * interval
  const untilFull = nextFullAt - now
  const excess = untilFull - burst * interval
  return excess > 0 ? { allowed: false, retryAfter: excess } : { allowed: true, fullAt: nextFullAt, untilFull }
}

/**
 * The time for the rate limits of a store without a server: the caller's clock in microseconds, which follows the wall
 * clock forwards, and continues with the monotonic clock while the wall clock is behind. Because it never goes back, a
 * clock that is set back neither blocks a limit nor opens it.
 */
export class MicrosecondClock {
  /** The difference between this clock and the monotonic clock. */
  #offset = Number.NEGATIVE_INFINITY

  /**
   * The time at which to judge a limit with the stored state `fullAt`. A limit is never more than `burst` intervals from
   * full, so if it seems to be, the clock of the process that wrote the state was ahead of this one, which catches up.
   */
  read(clock: Clock.Clock, { interval, burst }: Take, fullAt: number): number {
    const monotonic = Number(clock.monotonicTimeNanosUnsafe() / 1_000n)
    const wall = clock.currentTimeMillisUnsafe() * 1_000
    this.#offset = Math.max(this.#offset, wall - monotonic, fullAt - burst * interval - monotonic)
    return monotonic + this.#offset
  }
}
