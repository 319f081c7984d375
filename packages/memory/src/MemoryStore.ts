/**
 * A store in memory: everything the contract asks for, and gone with the process. For tests, for demos, and for a
 * single process that may forget.
 */
import { type ClosableStore, type Partition, Store, StoreConflict, type StoreOperations } from "@tollgate/core"
import { Effect, Layer } from "effect"
import { PartitionState } from "./PartitionState.ts"

const empty = new PartitionState()

const make = (): StoreOperations => {
  const partitions = new Map<Partition.Partition, PartitionState>()
  const read = (partition: Partition.Partition): PartitionState => partitions.get(partition) ?? empty

  return Store.make({
    get: (partition, keys) => Effect.sync(() => keys.map((key) => read(partition).get(key))),
    getByUniqueKey: (partition, claims) => Effect.sync(() => claims.map((claim) => read(partition).claimed(claim))),
    list: (partition, queries) => Effect.sync(() => queries.map((query) => read(partition).list(query))),
    counters: (partition, names) =>
      Effect.clockWith((clock) => {
        const now = clock.currentTimeMillisUnsafe()
        return Effect.succeed(names.map((name) => read(partition).counter(name, now)))
      }),
    commit: (partition, changes, once) =>
      Effect.clockWith((clock) => {
        const state = partitions.get(partition) ?? new PartitionState()
        const result = state.commit(changes, once, clock.currentTimeMillisUnsafe())
        if (result instanceof StoreConflict) return Effect.fail(result)
        partitions.set(partition, state)
        return Effect.succeed(result)
      }),
    clear: (partition) => Effect.sync(() => read(partition).clear())
  })
}

/**
 * @example
 * ```ts
 * const store = MemoryStore.open()
 * const program = Effect.provide(myProgram, MemoryStore.layer)
 * ```
 */
export const MemoryStore = {
  /** A new, empty store. There is nothing to close; `close` is there because every store has one. */
  open: (): ClosableStore<StoreOperations> => ({ ...make(), close: () => Promise.resolve() }),
  /** A new, empty store wherever the layer is built. */
  layer: Layer.sync(Store, make)
}
