/**
 * Rate limits of the store, as the generic cell rate algorithm (GCRA). Its whole state is one integer: the time in
 * microseconds at which the limit is full again. A `Take` postpones that time by `cost` intervals, and is refused if it
 * would then be more than `burst` intervals ahead of now. So in any span of T microseconds, at most
 * `burst + T / interval` are taken.
 *
 * The time comes from the server of the store if it has one, otherwise from `MicrosecondClock`.
 */
import type { Take } from "./StoreOperations.ts"

/** A year and a day, in microseconds: the longest time until a limit is full. Added to the present, it stays exact. */
export const maxTimeUntilFull = 366 * 24 * 60 * 60 * 1_000_000

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
