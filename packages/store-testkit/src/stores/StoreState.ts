/**
 * Takes canonical snapshots of the content of any store. `StoreState.watch` records every name that a commit mentions; a
 * snapshot reads all of these names through the store's own operations. Two snapshots are equal if and only if their
 * records, versions, lists, unique keys, counters and rate limits are equal.
 *
 * @example
 * ```ts
 * const before = yield* stateHash
 * yield* Effect.flip(consumers.create(badRequest))
 * assert.strictEqual(yield* stateHash, before)
 * ```
 */
import { hash } from "node:crypto"
import {
  type Change,
  isCounterChange,
  type Partition,
  Store,
  type StoreOperations,
  type StoreRecord,
  type StoreUnavailable
} from "@tollgate/store"
import { Context, Effect, Layer } from "effect"

/** The content of one partition: equal for equal content, in any store. */
export interface PartitionSnapshot {
  readonly records: ReadonlyArray<StoreRecord>
  /** The keys listed for each index term. */
  readonly terms: Readonly<Record<string, { readonly keys: ReadonlyArray<string>; readonly total: number }>>
  /** The keys found for each search term. */
  readonly searchTerms: Readonly<Record<string, ReadonlyArray<string>>>
  readonly uniqueKeys: Readonly<Record<string, string>>
  readonly counters: Readonly<Record<string, number>>
  /** What the store holds for each rate limit. It depends on the store's clock: compare it within one store only. */
  readonly limits: Readonly<Record<string, number>>
}

/** The content of a store, by partition. */
export type Snapshot = Readonly<Record<string, PartitionSnapshot>>

class Names {
  readonly keys = new Set<string>()
  readonly terms = new Set<string>()
  readonly searchTerms = new Set<string>()
  readonly uniqueKeys = new Set<string>()
  readonly counters = new Set<string>()
  readonly limits = new Set<string>()

  add(change: Change): void {
    if (change._tag === "Take") this.limits.add(change.counter)
    else if (isCounterChange(change)) this.counters.add(change.counter)
    else if (change._tag === "AtMost") this.terms.add(change.term)
    // A check does not tell whether its counter is a rate limit; a change of it does.
    else if (change._tag !== "CheckCounter") this.keys.add(change.key)
    if (change._tag !== "Put") return
    for (const term of change.indexTerms) this.terms.add(term)
    for (const term of change.searchTerms ?? []) this.searchTerms.add(term)
    for (const uniqueKey of change.uniqueKeys) this.uniqueKeys.add(uniqueKey)
  }
}

const maxRecords = 1_000_000

/** A partition is empty if it was only mentioned in rejected commits. */
const isEmpty = ({ records, terms, searchTerms, uniqueKeys, counters, limits }: PartitionSnapshot): boolean =>
  [records, terms, searchTerms, uniqueKeys, counters, limits].every((part) => Object.keys(part).length === 0)

/** The counters that are not 0, by name. */
const readCounters = (store: StoreOperations, partition: Partition.Partition, names: ReadonlySet<string>) => {
  const sorted = [...names].sort()
  return Effect.map(store.counters(partition, sorted), (values) =>
    Object.fromEntries(values.flatMap((value, index) => (value === 0 ? [] : [[sorted[index], value]])))
  )
}

const takeSnapshot = Effect.fnUntraced(function* (
  store: StoreOperations,
  partition: Partition.Partition,
  names: Names
) {
  const terms = [...names.terms].sort()
  const uniqueKeys = [...names.uniqueKeys].sort()
  const pages = yield* store.list(
    partition,
    terms.map((term) => ({ indexTerms: [term], offset: 0, limit: maxRecords }))
  )
  for (const { records } of pages) for (const { key } of records) names.keys.add(key)
  const searchTerms = [...names.searchTerms].sort()
  const found = yield* store.search(
    partition,
    searchTerms.map((prefix) => ({ prefix, limit: maxRecords }))
  )
  const records = yield* store.get(partition, [...names.keys].sort())
  const owners = yield* store.getByUniqueKey(partition, uniqueKeys)
  return {
    records: records.filter((record) => record !== undefined),
    terms: Object.fromEntries(
      pages.flatMap(({ records, total }, index) =>
        total === 0 ? [] : [[terms[index], { keys: records.map(({ key }) => key), total }]]
      )
    ),
    searchTerms: Object.fromEntries(
      found.flatMap((matches, index) =>
        matches.length === 0 ? [] : [[searchTerms[index], matches.map(({ term, key }) => `${term} of ${key}`)]]
      )
    ),
    uniqueKeys: Object.fromEntries(
      owners.flatMap((owner, index) => (owner === undefined ? [] : [[uniqueKeys[index], owner.record.key]]))
    ),
    counters: yield* readCounters(store, partition, names.counters),
    limits: yield* readCounters(store, partition, names.limits)
  }
})

/** Reads snapshots of a store's content, and hashes of them. */
export class StoreState extends Context.Service<
  StoreState,
  {
    readonly snapshot: Effect.Effect<Snapshot, StoreUnavailable>
    /** A hash of the snapshot. */
    readonly hash: Effect.Effect<string, StoreUnavailable>
  }
>()("@tollgate/store-testkit/StoreState") {
  /** Wraps a store, so that its state can be read. `snapshotOf` reads the same names from another store. */
  static watch(store: StoreOperations): {
    readonly store: StoreOperations
    readonly state: StoreState["Service"]
    readonly snapshotOf: (other: StoreOperations) => Effect.Effect<Snapshot, StoreUnavailable>
  } {
    const namesByPartition = new Map<Partition.Partition, Names>()
    const snapshotOf = (store: StoreOperations) =>
      Effect.suspend(() =>
        Effect.forEach(
          [...namesByPartition].sort(([left], [right]) => (left < right ? -1 : 1)),
          ([partition, names]) =>
            Effect.map(takeSnapshot(store, partition, names), (content) => [partition, content] as const)
        )
      ).pipe(Effect.map((entries): Snapshot => Object.fromEntries(entries.filter(([, content]) => !isEmpty(content)))))
    const snapshot = snapshotOf(store)
    return {
      store: {
        ...store,
        commit: (partition, changes, idempotency) => {
          const names = namesByPartition.get(partition) ?? new Names()
          namesByPartition.set(partition, names)
          for (const change of changes) names.add(change)
          return store.commit(partition, changes, idempotency)
        }
      },
      state: { snapshot, hash: Effect.map(snapshot, (content) => hash("sha256", JSON.stringify(content))) },
      snapshotOf
    }
  }

  /** Provides the wrapped store and its state. */
  static layer<E, R>(store: Layer.Layer<Store, E, R>): Layer.Layer<Store | StoreState, E, R> {
    return Layer.effectContext(
      Effect.map(Store, (store) => {
        const watched = StoreState.watch(store)
        return Context.make(Store, watched.store).pipe(Context.add(StoreState, watched.state))
      })
    ).pipe(Layer.provide(store))
  }
}

/** A hash of the whole content of the store. It changes if and only if the content changes. */
export const stateHash: Effect.Effect<string, StoreUnavailable, StoreState> = Effect.flatMap(
  StoreState,
  (state) => state.hash
)
