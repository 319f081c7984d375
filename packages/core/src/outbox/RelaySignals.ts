/**
 * Tells the relay of this process which partitions of which accounts have new events, so that it need not wait until it
 * looks for them.
 */
import { Context, type Effect, Latch, Layer } from "effect"
import type { Partition } from "../store/Partition.ts"

export class RelaySignals extends Context.Service<
  RelaySignals,
  {
    readonly add: (partition: Partition, accountName: string) => void
    /** Waits until a partition has new events. */
    readonly await: Effect.Effect<void>
    /** How many partitions have new events. */
    readonly count: () => number
    /** Removes and returns the partitions with new events, and their accounts. */
    readonly take: () => ReadonlyMap<Partition, string>
  }
>()("@tollgate/core/outbox/RelaySignals") {
  static readonly layer = Layer.sync(RelaySignals, () => {
    let partitions = new Map<Partition, string>()
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
