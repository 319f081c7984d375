/**
 * What an adapter implements: six operations over opaque records in partitions.
 *
 * A store knows nothing of consumers, keys or plans. It holds records with a body, the **terms** they are listed
 * by, the unique values they **claim**, and the **parent** they belong to; and counters. All writing is one
 * operation, `commit`, which is data rather than a callback, so that it can become one SQLite transaction, one
 * Redis script, or one synchronous function.
 */
import { Cause, Context, Data, Effect, Exit, Scope } from "effect"
import type { Partition } from "./Partition.ts"
import type { StoreConflict, StoreUnavailable } from "./StoreError.ts"
import * as StoreMisuse from "./StoreMisuse.ts"

export interface StoreRecord {
  readonly key: string
  /**
   * The partition's sequence number at the record's last write. Never used twice, so that a record which was
   * deleted and made again is told from its predecessor.
   */
  readonly version: number
  readonly body: string
  readonly indexTerms: ReadonlyArray<string>
  readonly uniqueKeys: ReadonlyArray<string>
  readonly parent?: string
}

/** A record that holds a claim, and the record it belongs to, if that exists. */
export interface RecordWithParent {
  readonly record: StoreRecord
  readonly parent?: StoreRecord
}

/** Asks for the records that carry **all** the terms; at least one term is given. */
export interface StoreQuery {
  readonly indexTerms: ReadonlyArray<string>
  readonly offset: number
  readonly limit: number
}

/** Records in the order of their creation, and how many there are in all pages. */
export interface StorePage {
  readonly records: ReadonlyArray<StoreRecord>
  readonly total: number
}

/**
 * One part of a commit. What a part expects (`expect`, `atMost`) is judged by the state before the commit, and a key
 * is named by one `Put`, `Delete` or `Check` at most. `expect: 0` means that the record must not exist.
 */
export type Change = Data.TaggedEnum<{
  Put: {
    readonly key: string
    readonly expect: number
    readonly body: string
    readonly indexTerms: ReadonlyArray<string>
    readonly uniqueKeys: ReadonlyArray<string>
    readonly parent?: string
  }
  Delete: { readonly key: string; readonly expect: number }
  Check: { readonly key: string; readonly expect: number }
  /** Refuses the commit if more than `atMost` records carry the term. */
  AtMost: { readonly term: string; readonly atMost: number }
  /**
   * Raises a counter by a positive integer, unless it would pass `max`. The counter is kept for at least `ttl`
   * milliseconds more, and may be forgotten after that.
   */
  Add: { readonly counter: string; readonly by: number; readonly max?: number; readonly ttl: number }
}>

export const Change = Data.taggedEnum<Change>()

/**
 * Makes a commit happen once: the same `id` again, within `ttl` milliseconds, changes nothing and gives what was
 * remembered. It is remembered together with the effect, so a refused commit is not.
 */
export interface IdempotencyRecord {
  readonly id: string
  /** What the caller compares, to tell a repetition from another request under the same id. */
  readonly fingerprint: string
  readonly result: string
  readonly ttl: number
}

export interface CommitResult {
  /** The new version of each record that the commit put, by its key. */
  readonly versions: ReadonlyMap<string, number>
  /** The new value of each counter that the commit raised, by its name. */
  readonly totals: ReadonlyMap<string, number>
  /** Set when the commit had been applied before under its `once` id. */
  readonly replayed?: { readonly fingerprint: string; readonly result: string }
}

/** The six operations. An adapter implements these and completes them with `Store.make`. */
export interface StoreOperations {
  /** The records of these keys, in the order of the keys. */
  get(
    partition: Partition,
    keys: ReadonlyArray<string>
  ): Effect.Effect<ReadonlyArray<StoreRecord | undefined>, StoreUnavailable>

  /** The records that hold these unique values, each with its parent, in one round trip. */
  getByUniqueKey(
    partition: Partition,
    claims: ReadonlyArray<string>
  ): Effect.Effect<ReadonlyArray<RecordWithParent | undefined>, StoreUnavailable>

  /** A page for each query, in one round trip. */
  list(
    partition: Partition,
    queries: ReadonlyArray<StoreQuery>
  ): Effect.Effect<ReadonlyArray<StorePage>, StoreUnavailable>

  /** The values of these counters; 0 for one that was never raised. */
  counters(partition: Partition, names: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<number>, StoreUnavailable>

  /** Applies all the changes, or none. */
  commit(
    partition: Partition,
    changes: ReadonlyArray<Change>,
    once?: IdempotencyRecord
  ): Effect.Effect<CommitResult, StoreConflict | StoreUnavailable>

  /**
   * Removes everything in the partition. It may be cut off, and is then repeated; it is not atomic. The
   * partition's sequence goes on, so that a version never comes back.
   */
  clear(partition: Partition): Effect.Effect<void, StoreUnavailable>
}

export class Store extends Context.Service<Store, StoreOperations>()("@tollgate/core/store/Store") {
  /**
   * Completes an adapter: refuses misuse in the same words everywhere, and answers what needs no store. An adapter
   * passes its own six operations through here and may rely on well-formed arguments.
   */
  static make(operations: StoreOperations): StoreOperations {
    return {
      get: (partition, keys) => (keys.length === 0 ? emptyResult : operations.get(partition, keys)),
      getByUniqueKey: (partition, claims) =>
        claims.length === 0 ? emptyResult : operations.getByUniqueKey(partition, claims),
      list: (partition, queries) => {
        if (queries.length === 0) return emptyResult
        const misuse = StoreMisuse.validateQueries(queries)
        return misuse === undefined ? operations.list(partition, queries) : Effect.die(misuse)
      },
      counters: (partition, names) => (names.length === 0 ? emptyResult : operations.counters(partition, names)),
      commit: (partition, changes, once) => {
        if (changes.length === 0 && once === undefined) return emptyCommit
        const misuse = StoreMisuse.validateCommit(changes, once)
        return misuse === undefined ? operations.commit(partition, changes, once) : Effect.die(misuse)
      },
      clear: operations.clear
    }
  }

  /** Opens a scoped store for callers outside Effect: it stays open until `close`, of which a second does nothing. */
  static async open<S extends StoreOperations, E>(make: Effect.Effect<S, E, Scope.Scope>): Promise<ClosableStore<S>> {
    const scope = Scope.makeUnsafe()
    const exit = await Effect.runPromiseExit(Scope.provide(make, scope))
    const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
    if (Exit.isSuccess(exit)) return { ...exit.value, close }
    await close()
    throw Cause.squash(exit.cause)
  }
}

export type ClosableStore<S> = S & { readonly close: () => Promise<void> }

const emptyCommit: Effect.Effect<CommitResult> = Effect.succeed({ versions: new Map(), totals: new Map() })
const emptyResult: Effect.Effect<ReadonlyArray<never>> = Effect.succeed([])
