/**
 * Detects expired leases without comparing the clocks of two machines. A live holder renews its lease, which changes
 * the version of the record. A lease has expired when this process has seen the same record version for the whole lease
 * duration, on its own monotonic clock.
 */
import { Clock, Duration, Effect } from "effect"
import * as Lease from "./Lease.ts"

interface Sighting {
  readonly recordVersion: number
  /** In milliseconds of the monotonic clock. */
  readonly firstSeen: number
}

const duration = Duration.toMillis(Lease.duration)

export const makeLeaseWatch = () => {
  let previous: ReadonlyMap<string, Sighting> = new Map()
  let current = new Map<string, Sighting>()
  return {
    /** Records the record version of a held lease, and returns whether the lease has expired. */
    isExpired: (id: string, recordVersion: number): Effect.Effect<boolean> =>
      Effect.map(Clock.monotonicTimeNanos, (nanos) => {
        const now = Number(nanos / 1_000_000n)
        const sighting = previous.get(id)
        const firstSeen = sighting?.recordVersion === recordVersion ? sighting.firstSeen : now
        current.set(id, { recordVersion, firstSeen })
        return now - firstSeen >= duration
      }),
    /** Starts a scan. Drops the leases that the previous scan did not see. */
    startScan: (): void => {
      previous = current
      current = new Map()
    }
  }
}
