/**
 * Tells the relay of this process which partitions have new events, so that it need not wait until it looks for them.
 */
import { Context, type Effect, Latch, Layer } from "effect"
import type { Partition } from "../store/Partition.ts"

export class RelaySignals extends Context.Service<
  RelaySignals,
  {
    readonly add: (partition: Partition) => void
    /** Waits until a partition has new events. */
    readonly await: Effect.Effect<void>
    /** How many partitions have new events. */
    readonly count: () => number
    /** Removes and returns the partitions with new events. */
    readonly take: () => ReadonlyArray<Partition>
  }
>()("@tollgate/core/outbox/RelaySignals") {
  static readonly layer = Layer.sync(RelaySignals, () => {
    const partitions = new Set<Partition>()
    const latch = Latch.makeUnsafe()
    return {
      add: (partition) => {
        partitions.add(partition)
        latch.openUnsafe()
      },
      await: latch.await,
      count: () => partitions.size,
      take: () => {
        const taken = [...partitions]
        partitions.clear()
        latch.closeUnsafe()
        return taken
      }
    }
  })
}
