/**
 * Which partitions of which accounts have new work for the relay of this process, such as events.
 */

import type { Partition } from "@tollgate/store/internal"
import { Context, type Effect, Latch, Layer } from "effect"

export class WorkSignals extends Context.Service<
  WorkSignals,
  {
    readonly add: (partition: Partition.Partition, accountName: string) => void
    /** Waits until a partition has new work. */
    readonly await: Effect.Effect<void>
    /** How many partitions have new work. */
    readonly count: () => number
    /** Removes and returns the partitions with new work, and their accounts. */
    readonly take: () => ReadonlyMap<Partition.Partition, string>
  }
>()("@tollgate/core/jobs/WorkSignals") {
  static readonly layer = Layer.sync(WorkSignals, () => {
    let partitions = new Map<Partition.Partition, string>()
    const latch = Latch.makeUnsafe()
    return {
      add: (partition, accountName) => {
        partitions.set(partition, accountName)
        latch.openUnsafe()
      },
      await: latch.await,
      count: () => partitions.size,
      take: () => {
        const taken = partitions
        partitions = new Map()
        latch.closeUnsafe()
        return taken
      }
    }
  })
}
