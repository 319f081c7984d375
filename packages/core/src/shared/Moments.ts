/**
 * The time as this process has seen it: a clock that is set back brings no key back to life, no trial, and no period.
 */
import { type Clock, Context, DateTime, Effect, Layer } from "effect"

export class Moments extends Context.Service<
  Moments,
  {
    /** Milliseconds, by that clock, and never less than before. */
    readonly at: (clock: Clock.Clock) => number
    readonly now: Effect.Effect<DateTime.Utc>
  }
>()("@tollgate/core/shared/Moments") {
  static readonly layer = Layer.sync(Moments, () => {
    let latest = Number.NEGATIVE_INFINITY
    const at = (clock: Clock.Clock): number => {
      latest = Math.max(latest, clock.currentTimeMillisUnsafe())
      return latest
    }
    let moment = DateTime.makeUnsafe(0)
    // Many are asked for in one millisecond.
    const momentAt = (time: number): DateTime.Utc => {
      if (DateTime.toEpochMillis(moment) !== time) moment = DateTime.makeUnsafe(time)
      return moment
    }
    return { at, now: Effect.clockWith((clock) => Effect.succeed(momentAt(at(clock)))) }
  })
}
