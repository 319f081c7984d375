/**
 * An in-memory store that implements the whole store contract. Its content is lost when the process exits, so it suits
 * tests, demos and single processes that need no persistence.
 */
import { Options } from "@tollgate/core/internal"
import {
  type ClockSource,
  type ClosableStore,
  MicrosecondClock,
  type Partition,
  Store,
  StoreConflict,
  type StoreOperations
} from "@tollgate/core/store"
import { Effect, Layer } from "effect"
import { PartitionState } from "./PartitionState.ts"

const emptyPartition = new PartitionState()

export interface MemoryStoreOptions {
  /**
   * The clock of rate limits and of the expiry of counters. By default it counts with the monotonic clock, so that setting
   * the system clock opens no limit. With `caller` it follows the system clock forwards: use it in tests with fake timers.
   */
  readonly clock?: ClockSource | undefined
}

const memoryStoreOptions = Options.struct<MemoryStoreOptions>()({
  clock: Options.optional(Options.literals(["monotonic", "caller"]))
})

const make = ({ clock: source }: MemoryStoreOptions = {}): StoreOperations => {
  const partitions = new Map<Partition.Partition, PartitionState>()
  const microseconds = new MicrosecondClock(source)
  const read = (partition: Partition.Partition): PartitionState => partitions.get(partition) ?? emptyPartition

  return Store.make({
    get: (partition, keys) => Effect.sync(() => keys.map((key) => read(partition).get(key))),
    getByUniqueKey: (partition, uniqueKeys) =>
      Effect.sync(() => uniqueKeys.map((uniqueKey) => read(partition).getByUniqueKey(uniqueKey))),
    list: (partition, queries) => Effect.sync(() => queries.map((query) => read(partition).list(query))),
    counters: (partition, names) =>
      Effect.clockWith((clock) => {
        const now = microseconds.readMillis(clock)
        return Effect.succeed(names.map((name) => read(partition).counter(name, now)))
      }),
    commit: (partition, changes, idempotency) =>
      Effect.clockWith((clock) => {
        const state = partitions.get(partition) ?? new PartitionState()
        const result = state.commit(changes, idempotency, { clock, microseconds })
        if (result instanceof StoreConflict) return Effect.fail(result)
        const isCheckOnly = result.versions.size + result.totals.size === 0 && idempotency === undefined
        if (!isCheckOnly) partitions.set(partition, state)
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
  /** Creates an empty store. `close` does nothing; it exists because every store has it. */
  open: (options?: MemoryStoreOptions): ClosableStore<StoreOperations> => ({
    ...make(Options.decodeSync(memoryStoreOptions, options)),
    close: () => Promise.resolve()
  }),
  /** Creates an empty store each time the layer is built. */
  layer: Layer.sync(Store, () => make())
}
