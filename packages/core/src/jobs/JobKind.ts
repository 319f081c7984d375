import type { Partition } from "@tollgate/store/internal"
import type { DateTime, Effect } from "effect"

/** A kind of background work that is due at a time. */
export interface JobKind {
  /** Stored, so it cannot change. */
  readonly name: string
  /**
   * Does what is due in a partition. Returns when more work of this kind is due there: a time that has come if it could not
   * be done at once, nothing if there is none. Any process may do so at any time, so each step can be repeated.
   */
  readonly run: (
    partition: Partition.Partition,
    accountName: string
  ) => Effect.Effect<DateTime.Utc | undefined, unknown>
}
