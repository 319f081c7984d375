/**
 * The time as this process trusts it: never earlier than it has seen, so that a wall clock which is set back brings no
 * expired key, trial or period back. A wall clock that jumps ahead of the monotonic clock is followed only while it is
 * ahead: when it is corrected, so is the time here.
 */
import { type Clock, Context, DateTime, Effect, Layer } from "effect"

/** The wall clock is adjusted in small steps all the time; what is more than this is a jump. */
const tolerance = 60_000

/** A clock that stays ahead for this long was right: the machine had been suspended, or its date was corrected. */
const confirmation = 10 * 60_000

const monotonicMillis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

const makeReader = (clock: Clock.Clock): (() => number) => {
  let latest = clock.currentTimeMillisUnsafe()
  /** What is added to the monotonic clock to give the time that it vouches for. */
  let offset = latest - monotonicMillis(clock)
  let aheadSince: number | undefined
  return () => {
    const elapsed = monotonicMillis(clock)
    const wall = clock.currentTimeMillisUnsafe()
    const lead = wall - (elapsed + offset)
    const isAhead = lead > tolerance
    aheadSince = isAhead ? (aheadSince ?? elapsed) : undefined
    const isConfirmed = aheadSince !== undefined && elapsed - aheadSince >= confirmation
    if (lead > 0 && (!isAhead || isConfirmed)) offset += lead
    latest = Math.max(latest, Math.min(wall, elapsed + offset))
    return Math.max(latest, wall)
  }
}

export class TrustedClock extends Context.Service<
  TrustedClock,
  {
    /** Milliseconds since the epoch, by that clock. */
    readonly at: (clock: Clock.Clock) => number
    readonly now: Effect.Effect<DateTime.Utc>
  }
>()("@tollgate/core/runtime/TrustedClock") {
  static readonly layer = Layer.sync(TrustedClock, () => {
    let current: { readonly clock: Clock.Clock; readonly read: () => number } | undefined
    const at = (clock: Clock.Clock): number => {
      if (current?.clock !== clock) current = { clock, read: makeReader(clock) }
      return current.read()
    }
    let moment = DateTime.makeUnsafe(0)
    // Several calls fall into one millisecond.
    const momentAt = (time: number): DateTime.Utc => {
      if (DateTime.toEpochMillis(moment) !== time) moment = DateTime.makeUnsafe(time)
      return moment
    }
    return { at, now: Effect.clockWith((clock) => Effect.succeed(momentAt(at(clock)))) }
  })
}
