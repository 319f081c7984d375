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

/** What is known of a clock. */
interface Readings {
  readonly clock: Clock.Clock
  /** On the monotonic clock, in milliseconds. */
  readonly startedAt: number
  isStartConfirmed: boolean
  latestTrusted: number
  /** The difference between the trusted time and the monotonic clock. */
  offset: number
  aheadSince: number | undefined
}

const startReading = (clock: Clock.Clock): Readings => {
  const latestTrusted = clock.currentTimeMillisUnsafe()
  const startedAt = Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
  const offset = latestTrusted - startedAt
  return { clock, startedAt, isStartConfirmed: false, latestTrusted, offset, aheadSince: undefined }
}

/** Reads the wall clock for what expires: setting the system clock back brings nothing back. */
export class TrustedClock extends Context.Service<
  TrustedClock,
  {
    /** Milliseconds since the epoch, based on the given clock. */
    readonly readMillis: (clock: Clock.Clock) => number
    /** The same as a `DateTime`. */
    readonly read: (clock: Clock.Clock) => DateTime.Utc
    readonly now: Effect.Effect<DateTime.Utc>
  }
>()("@tollgate/store/runtime/TrustedClock") {
  static readonly layer = Layer.sync(TrustedClock, () => {
    let current: Readings | undefined
    const readMillis = (clock: Clock.Clock): number => {
      if (current?.clock !== clock) current = startReading(clock)
      const monotonic = Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
      const wall = clock.currentTimeMillisUnsafe()
      current.isStartConfirmed ||= monotonic - current.startedAt >= confirmationMs
      if (!current.isStartConfirmed && wall < current.latestTrusted - jumpThresholdMs) {
        current.latestTrusted = wall
        current.offset = wall - monotonic
      }
      const lead = wall - (monotonic + current.offset)
      const isAhead = lead > jumpThresholdMs
      current.aheadSince = isAhead ? (current.aheadSince ?? monotonic) : undefined
      const isConfirmed = current.aheadSince !== undefined && monotonic - current.aheadSince >= confirmationMs
      if (lead > 0 && (!isAhead || isConfirmed)) current.offset += lead
      current.latestTrusted = Math.max(current.latestTrusted, Math.min(wall, monotonic + current.offset))
      return Math.max(current.latestTrusted, wall)
    }
    // Many calls fall into the same millisecond: they share one DateTime.
    let latest = DateTime.makeUnsafe(0)
    const read = (clock: Clock.Clock): DateTime.Utc => {
      const millis = readMillis(clock)
      if (latest.epochMilliseconds !== millis) latest = DateTime.makeUnsafe(millis)
      return latest
    }
    return { readMillis, read, now: Effect.clockWith((clock) => Effect.succeed(read(clock))) }
  })
}
