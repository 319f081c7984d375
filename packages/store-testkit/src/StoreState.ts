/**
 * A canonical picture of what a store holds, taken through the contract alone, so that it works with any adapter:
 * the store is watched, and everything that was ever named is read again. Two pictures are equal exactly when
 * records, versions, lists, claims and counters are.
 *
 * @example
 * ```ts
 * const before = yield* stateHash
 * yield* Effect.flip(consumers.create("acme", "production", badInput))
 * assert.strictEqual(yield* stateHash, before)
 * ```
 */
import { hash } from "node:crypto"
import {
  type Change,
  type Partition,
  Store,
  type StoreOperations,
  type StoreRecord,
  type StoreUnavailable
} from "@tollgate/core"
import { Context, Effect, Layer } from "effect"

export interface PartitionSnapshot {
  readonly records: ReadonlyArray<StoreRecord>
  /** The keys listed under each term that any record carries. */
  readonly terms: Readonly<Record<string, { readonly keys: ReadonlyArray<string>; readonly total: number }>>
  readonly claims: Readonly<Record<string, string>>
  readonly counters: Readonly<Record<string, number>>
}

export type Snapshot = Readonly<Record<string, PartitionSnapshot>>

class Names {
  readonly keys = new Set<string>()
  readonly terms = new Set<string>()
  readonly claims = new Set<string>()
  readonly counters = new Set<string>()

  notice(change: Change): void {
    if (change._tag === "Add") this.counters.add(change.counter)
    else if (change._tag === "AtMost") this.terms.add(change.term)
    else this.keys.add(change.key)
    if (change._tag !== "Put") return
    for (const term of change.indexTerms) this.terms.add(term)
    for (const claim of change.uniqueKeys) this.claims.add(claim)
  }
}

const maxRecords = 1_000_000

/** What was only named, in a commit that was refused, is nowhere. */
const isEmpty = ({ records, terms, claims, counters }: PartitionSnapshot): boolean =>
  [records, terms, claims, counters].every((part) => Object.keys(part).length === 0)

const takeSnapshot = Effect.fnUntraced(function* (
  store: StoreOperations,
  partition: Partition.Partition,
  names: Names
) {
  const terms = [...names.terms].sort()
  const claims = [...names.claims].sort()
  const counters = [...names.counters].sort()
  const pages = yield* store.list(
    partition,
    terms.map((term) => ({ indexTerms: [term], offset: 0, limit: maxRecords }))
  )
  for (const { records } of pages) for (const { key } of records) names.keys.add(key)
  const records = yield* store.get(partition, [...names.keys].sort())
  const holders = yield* store.getByUniqueKey(partition, claims)
  const values = yield* store.counters(partition, counters)
  return {
    records: records.filter((record) => record !== undefined),
    terms: Object.fromEntries(
      pages.flatMap(({ records, total }, index) =>
        total === 0 ? [] : [[terms[index], { keys: records.map(({ key }) => key), total }]]
      )
    ),
    claims: Object.fromEntries(
      holders.flatMap((holder, index) => (holder === undefined ? [] : [[claims[index], holder.record.key]]))
    ),
    counters: Object.fromEntries(values.flatMap((value, index) => (value === 0 ? [] : [[counters[index], value]])))
  }
})

export class StoreState extends Context.Service<
  StoreState,
  {
    readonly picture: Effect.Effect<Snapshot, StoreUnavailable>
    /** A hash of the picture. */
    readonly hash: Effect.Effect<string, StoreUnavailable>
  }
>()("@tollgate/store-testkit/StoreState") {
  /** The same store, watched. */
  static watch(store: StoreOperations): { readonly store: StoreOperations; readonly state: StoreState["Service"] } {
    const seen = new Map<Partition.Partition, Names>()
    const pictures = Effect.suspend(() =>
      Effect.forEach(
        [...seen].sort(([left], [right]) => (left < right ? -1 : 1)),
        ([partition, names]) =>
          Effect.map(takeSnapshot(store, partition, names), (pictured) => [partition, pictured] as const)
      )
    ).pipe(Effect.map((all): Snapshot => Object.fromEntries(all.filter(([, pictured]) => !isEmpty(pictured)))))
    return {
      store: {
        ...store,
        commit: (partition, changes, once) => {
          const names = seen.get(partition) ?? new Names()
          seen.set(partition, names)
          for (const change of changes) names.notice(change)
          return store.commit(partition, changes, once)
        }
      },
      state: { picture: pictures, hash: Effect.map(pictures, (all) => hash("sha256", JSON.stringify(all))) }
    }
  }

  /** Watches a store: provides it, and its state. */
  static layer<E, R>(store: Layer.Layer<Store, E, R>): Layer.Layer<Store | StoreState, E, R> {
    return Layer.effectContext(
      Effect.map(Store, (store) => {
        const watched = StoreState.watch(store)
        return Context.make(Store, watched.store).pipe(Context.add(StoreState, watched.state))
      })
    ).pipe(Layer.provide(store))
  }
}

/** A hash of all that the watched store holds: equal before and after whatever changed nothing. */
export const stateHash: Effect.Effect<string, StoreUnavailable, StoreState> = Effect.flatMap(
  StoreState,
  (state) => state.hash
)
