/**
 * Detects expired leases without comparing the clocks of two machines. A live holder renews its lease, which changes
 * the record's version. A lease has expired when this process has seen the same version for the whole lease duration,
 * on its own monotonic clock.
 */
import { Clock, Duration, Effect } from "effect"
import * as Lease from "./Lease.ts"

interface Sighting {
  readonly version: number
  /** In milliseconds of the monotonic clock. */
  readonly firstSeen: number
}

const duration = Duration.toMillis(Lease.duration)

export const makeLeaseWatch = () => {
  let previous: ReadonlyMap<string, Sighting> = new Map()
  let current = new Map<string, Sighting>()
  return {
    /** Records a sighting of a held lease, and returns whether the lease has expired. */
    isExpired: (id: string, version: number): Effect.Effect<boolean> =>
      Effect.map(Clock.monotonicTimeNanos, (nanos) => {
        const now = Number(nanos / 1_000_000n)
        const sighting = previous.get(id)
        const firstSeen = sighting?.version === version ? sighting.firstSeen : now
        current.set(id, { version, firstSeen })
        return now - firstSeen >= duration
      }),
    /** Starts a scan. Drops the leases that the previous scan did not see. */
    startScan: (): void => {
      previous = current
      current = new Map()
    }
  }
}
