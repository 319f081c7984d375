/**
 * A wall clock that does not go back when the system clock is set back, so that expired keys, trials and periods stay
 * expired.
 *
 * The exception is a jump ahead of more than 1 minute: this clock shows it at once, but trusts it only after 10
 * minutes. If the system clock is corrected before that, this clock goes back too. The time at which a process starts is
 * such a jump: a machine without a battery may start with a wrong date.
 */
import { type Clock, Context, DateTime, Effect, Layer } from "effect"

/** A lead over the monotonic clock of more than this is a jump; smaller ones are normal adjustments (NTP). */
const jumpThresholdMs = 60_000

/** A jump that lasts this long is accepted: the machine was suspended, or its date was corrected. */
const confirmationMs = 10 * 60_000

const monotonicMillis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

const makeReader = (clock: Clock.Clock): (() => number) => {
  let latestTrusted = clock.currentTimeMillisUnsafe()
  /** The difference between the trusted time and the monotonic clock. */
  let offset = latestTrusted - monotonicMillis(clock)
  const startedAt = monotonicMillis(clock)
  let isStartConfirmed = false
  let aheadSince: number | undefined
  return () => {
    const monotonic = monotonicMillis(clock)
    const wall = clock.currentTimeMillisUnsafe()
    isStartConfirmed ||= monotonic - startedAt >= confirmationMs
    if (!isStartConfirmed && wall < latestTrusted - jumpThresholdMs) {
      latestTrusted = wall
      offset = wall - monotonic
    }
    const lead = wall - (monotonic + offset)
    const isAhead = lead > jumpThresholdMs
    aheadSince = isAhead ? (aheadSince ?? monotonic) : undefined
    const isConfirmed = aheadSince !== undefined && monotonic - aheadSince >= confirmationMs
    if (lead > 0 && (!isAhead || isConfirmed)) offset += lead
    latestTrusted = Math.max(latestTrusted, Math.min(wall, monotonic + offset))
    return Math.max(latestTrusted, wall)
  }
}

export class TrustedClock extends Context.Service<
  TrustedClock,
  {
    /** Milliseconds since the epoch, based on the given clock. */
    readonly readMillis: (clock: Clock.Clock) => number
    /** The same as a `DateTime`. */
    readonly read: (clock: Clock.Clock) => DateTime.Utc
    readonly now: Effect.Effect<DateTime.Utc>
  }
>()("@tollgate/core/runtime/TrustedClock") {
  static readonly layer = Layer.sync(TrustedClock, () => {
    let current: { readonly clock: Clock.Clock; readonly read: () => number } | undefined
    const readMillis = (clock: Clock.Clock): number => {
      if (current?.clock !== clock) current = { clock, read: makeReader(clock) }
      return current.read()
    }
    // Many calls fall into the same millisecond: they share one DateTime.
    let cachedDateTime = DateTime.makeUnsafe(0)
    const toDateTime = (millis: number): DateTime.Utc => {
      if (DateTime.toEpochMillis(cachedDateTime) !== millis) cachedDateTime = DateTime.makeUnsafe(millis)
      return cachedDateTime
    }
    const read = (clock: Clock.Clock) => toDateTime(readMillis(clock))
    return { readMillis, read, now: Effect.clockWith((clock) => Effect.succeed(read(clock))) }
  })
}
