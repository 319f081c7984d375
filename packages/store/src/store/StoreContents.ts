/**
 * Everything that a store contains, as entries that any other store can take over. `copyStore` moves a whole store with
 * it; the service operations of Tollgate never use it.
 */
import { Context, Effect, type Stream } from "effect"
import type { Partition } from "./Partition.ts"
import type { StoreEntry } from "./StoreEntry.ts"
import type { StoreUnavailable } from "./StoreError.ts"
import { validateEntries } from "./validateEntries.ts"

/** What an adapter implements beside `StoreOperations`, and passes to `StoreContents.make`. */
export interface StoreContentsOperations {
  /** The names of all partitions that contain entries, in any order. A name may occur twice. */
  readonly partitions: Stream.Stream<Partition, StoreUnavailable>

  /**
   * The entries of a partition that have not expired, each once, in batches that `takeBatch` limits: first the sequence
   * number if it is not 0, then the records in the order of their creation, then counters and replays in any order. Not
   * a snapshot: what is written meanwhile may be missing.
   */
  readonly read: (partition: Partition) => Stream.Stream<ReadonlyArray<StoreEntry>, StoreUnavailable>

  /**
   * Adds a batch of entries to a partition to which nothing else writes. Records are created in the order in which they
   * are written, and keep their versions; counters and replays keep their expiry. Writing an entry again changes nothing.
   */
  readonly write: (partition: Partition, entries: ReadonlyArray<StoreEntry>) => Effect.Effect<void, StoreUnavailable>
}

/**
 * Reads and writes everything that a store contains. `copyContents` uses it; an adapter makes it with
 * `StoreContents.make`.
 */
export class StoreContents extends Context.Service<StoreContents, StoreContentsOperations>()(
  "@tollgate/store/StoreContents"
) {
  /** Wraps an adapter's operations: rejects invalid entries, and writes nothing for an empty batch. */
  static make(operations: StoreContentsOperations): StoreContentsOperations {
    return {
      ...operations,
      write: (partition, entries) => {
        if (entries.length === 0) return Effect.void
        const misuse = validateEntries(entries)
        return misuse === undefined ? operations.write(partition, entries) : Effect.die(misuse)
      }
    }
  }
}
