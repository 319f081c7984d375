/**
 * An in-memory store that implements the whole store contract. Its content is lost when the process exits, so it suits
 * tests, demos and single processes that need no persistence.
 */

import {
  type Change,
  type ClockSource,
  type ClosableStore,
  type Commit,
  type GetByUniqueKey,
  type IdempotencyRecord,
  MicrosecondClock,
  type Partition,
  readInPieces,
  Store,
  StoreConflict,
  StoreContents,
  type StoreQuery,
  type StoreWithContents,
  streamBatches,
  takeBatch,
  withNow
} from "@tollgate/store"
import { Options } from "@tollgate/store/internal"
import { type Clock, Effect, Exit, Stream } from "effect"
import { PartitionState } from "./PartitionState.ts"

const emptyPartition = new PartitionState()

/** The options of `MemoryStore.open`. */
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

const make = ({ clock: source }: MemoryStoreOptions = {}): StoreWithContents => {
  const partitions = new Map<Partition.Partition, PartitionState>()
  const microseconds = new MicrosecondClock(source)
  const read = (partition: Partition.Partition): PartitionState => partitions.get(partition) ?? emptyPartition

  const contents = StoreContents.make({
    partitions: Stream.suspend(() => Stream.fromIterable(partitions.keys())),
    read: (partition) =>
      Stream.unwrap(
        Effect.clockWith((clock) => {
          const entries = read(partition).entries(microseconds.readMillis(clock))
          return Effect.succeed(streamBatches(Effect.sync(() => takeBatch(entries))))
        })
      ),
    write: (partition, entries) =>
      Effect.clockWith((clock) => {
        const state = partitions.get(partition) ?? new PartitionState()
        partitions.set(partition, state)
        const now = microseconds.readMillis(clock)
        for (const entry of entries) state.write(entry, now)
        return Effect.void
      })
  })

  const getByUniqueKey = (partition: Partition.Partition, uniqueKeys: ReadonlyArray<string>) => {
    const state = read(partition)
    return Exit.succeed(uniqueKeys.map((uniqueKey) => state.getByUniqueKey(uniqueKey)))
  }

  const commit = (
    partition: Partition.Partition,
    changes: ReadonlyArray<Change>,
    clock: Clock.Clock,
    idempotency?: IdempotencyRecord
  ) => {
    const existing = partitions.get(partition)
    const state = existing ?? new PartitionState()
    const result = state.commit(changes, idempotency, { clock, microseconds })
    if (result instanceof StoreConflict) return Exit.fail(result)
    const isCheckOnly = result.versions.size + result.totals.size === 0 && idempotency === undefined
    if (existing === undefined && !isCheckOnly) partitions.set(partition, state)
    return Exit.succeed(result)
  }

  const listInPieces = (state: PartitionState, query: StoreQuery) =>
    Effect.map(
      readInPieces(
        (after, skip, wanted) => Effect.sync(() => state.readPiece(query, after, skip, wanted)),
        query,
        query.indexTerms.length > 1 ? undefined : state.list({ ...query, limit: 0 }).total
      ),
      ({ items, total }) => state.toPage(items, total, query.limit)
    )

  const operations = Store.make({
    description: { system: "memory" },
    get: (partition, keys) => Effect.sync(() => keys.map((key) => read(partition).get(key))),
    getByUniqueKey: withNow<GetByUniqueKey>(
      (partition, uniqueKeys) => Effect.suspend(() => getByUniqueKey(partition, uniqueKeys)),
      getByUniqueKey
    ),
    list: (partition, queries) =>
      Effect.suspend(() =>
        queries.some((query) => read(partition).isLarge(query))
          ? Effect.forEach(queries, (query) => listInPieces(read(partition), query))
          : Effect.succeed(queries.map((query) => read(partition).list(query)))
      ),
    search: (partition, queries) => Effect.sync(() => queries.map((query) => read(partition).search(query))),
    counters: (partition, names) =>
      Effect.clockWith((clock) => {
        const now = microseconds.readMillis(clock)
        return Effect.succeed(names.map((name) => read(partition).counter(name, now)))
      }),
    commit: withNow<Commit>(
      (partition, changes, idempotency) => Effect.clockWith((clock) => commit(partition, changes, clock, idempotency)),
      commit
    ),
    clear: (partition) => Effect.sync(() => read(partition).clear())
  })
  return { ...operations, contents }
}

/**
 * Opens a store in the memory of the process. Its content is lost when the process exits.
 *
 * @example
 * ```ts
 * const store = MemoryStore.open()
 * const program = Effect.provide(myProgram, MemoryStore.layer)
 * ```
 */
export const MemoryStore = {
  /** Creates an empty store. `close` does nothing; it exists because every store has it. */
  open: (options?: MemoryStoreOptions): ClosableStore<StoreWithContents> => ({
    ...make(Options.decodeSync(memoryStoreOptions, options)),
    close: () => Promise.resolve()
  }),
  /** Creates an empty store each time the layer is built. */
  layer: Store.layer(Effect.sync(() => make()))
}
