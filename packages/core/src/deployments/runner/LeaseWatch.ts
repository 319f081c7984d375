/**
 * Tells which leases have lapsed, without comparing the clocks of two machines: a lease has lapsed when this process has
 * seen the same version of its record for the lease's whole duration, by its own monotonic clock. A holder that is alive
 * renews its lease, which changes the version.
 */
import { Clock, Duration, Effect } from "effect"
import * as Lease from "./Lease.ts"

interface Sighting {
  readonly version: number
  /** Milliseconds of the monotonic clock. */
  readonly firstSeen: number
}

const duration = Duration.toMillis(Lease.duration)

export const makeLeaseWatch = () => {
  let previous: ReadonlyMap<string, Sighting> = new Map()
  let current = new Map<string, Sighting>()
  return {
    /** Notes a held lease, and tells whether it has lapsed. */
    isLapsed: (id: string, version: number): Effect.Effect<boolean> =>
      Effect.map(Clock.monotonicTimeNanos, (nanos) => {
        const now = Number(nanos / 1_000_000n)
        const known = previous.get(id)
        const firstSeen = known?.version === version ? known.firstSeen : now
        current.set(id, { version, firstSeen })
        return now - firstSeen >= duration
      }),
    /** Begins a new round, in which leases that the last one did not see are forgotten. */
    startRound: (): void => {
      previous = current
      current = new Map()
    }
  }
}
