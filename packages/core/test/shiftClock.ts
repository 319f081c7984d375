import { type Clock, Effect } from "effect"

/** A clock that is ahead of another by some milliseconds. Its delays take the same time. */
export const shiftClock = (clock: Clock.Clock, aheadMs: number): Clock.Clock => ({
  ...clock,
  currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + aheadMs,
  currentTimeMillis: Effect.map(clock.currentTimeMillis, (millis) => millis + aheadMs),
  currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe() + BigInt(aheadMs) * 1_000_000n,
  currentTimeNanos: Effect.map(clock.currentTimeNanos, (nanos) => nanos + BigInt(aheadMs) * 1_000_000n),
  monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  sleep: (duration) => clock.sleep(duration)
})
