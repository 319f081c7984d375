/**
 * The clock of background work: how long it pauses, and how long it has seen something unchanged. It is the real clock also
 * in a test that stops its own: what is due depends on the clock of the services, and not on this one.
 */

import { liveClock } from "@tollgate/store/internal"
import { Clock, Context, type Duration, Effect } from "effect"

export const BackgroundClock = Context.Reference<Clock.Clock>("@tollgate/core/jobs/BackgroundClock", {
  defaultValue: () => liveClock
})

/** Runs an effect on the clock of background work. */
export const onBackgroundClock = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(BackgroundClock, (clock) => Effect.provideService(effect, Clock.Clock, clock))

export const pause = (duration: Duration.Input): Effect.Effect<void> => onBackgroundClock(Effect.sleep(duration))

/** Milliseconds on the monotonic clock of this process. */
export const readMonotonicMillis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
