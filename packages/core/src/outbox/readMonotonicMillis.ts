import { liveClock } from "../store/retryOnConflict.ts"

/** Milliseconds on the monotonic clock of this process. They pass also in a test that stops its own clock. */
export const readMonotonicMillis = (): number => Number(liveClock.monotonicTimeNanosUnsafe() / 1_000_000n)
