/**
 * The service of a store, made of the operations of an adapter.
 */
import { Cause, Context, Effect, Exit, Layer, Logger, Scope } from "effect"
import { type HostLogger, resolveLogger } from "../runtime/HostLogger.ts"
import { StoreContents, type StoreContentsOperations } from "./StoreContents.ts"
import * as StoreMisuse from "./StoreMisuse.ts"
import type { Commit, CommitResult, GetByUniqueKey, StoreOperations } from "./StoreOperations.ts"
import { withNow } from "./withNow.ts"

export * from "./StoreOperations.ts"

/** What the `open` of an adapter returns: the operations, and everything that the store contains. */
export interface StoreWithContents extends StoreOperations {
  readonly contents: StoreContentsOperations
}

/** The service of a store. An adapter makes it with `Store.make`, and offers it with `Store.layer` and `Store.open`. */
export class Store extends Context.Service<Store, StoreOperations>()("@tollgate/store/Store") {
  /**
   * Wraps an adapter's operations: rejects invalid arguments with the same messages in every adapter, and returns empty
   * results without calling the adapter. An adapter can rely on well-formed arguments.
   */
  static make(operations: StoreOperations): StoreOperations {
    return {
      description: operations.description,
      get: (partition, keys) => (keys.length === 0 ? emptyResult : operations.get(partition, keys)),
      getByUniqueKey: withNow<GetByUniqueKey>(
        (partition, uniqueKeys) =>
          uniqueKeys.length === 0 ? emptyResult : operations.getByUniqueKey(partition, uniqueKeys),
        operations.getByUniqueKey.now
      ),
      list: (partition, queries) => {
        if (queries.length === 0) return emptyResult
        const misuse = StoreMisuse.validateQueries(queries)
        return misuse === undefined ? operations.list(partition, queries) : Effect.die(misuse)
      },
      search: (partition, queries) => {
        if (queries.length === 0) return emptyResult
        const misuse = StoreMisuse.validateSearches(queries)
        return misuse === undefined ? operations.search(partition, queries) : Effect.die(misuse)
      },
      counters: (partition, names) => (names.length === 0 ? emptyResult : operations.counters(partition, names)),
      commit: withNow<Commit>((partition, changes, idempotency) => {
        if (changes.length === 0 && idempotency === undefined) return emptyCommit
        const misuse = StoreMisuse.validateCommit(changes, idempotency)
        return misuse === undefined ? operations.commit(partition, changes, idempotency) : Effect.die(misuse)
      }, operations.commit.now),
      clear: operations.clear
    }
  }

  /** Provides a scoped store and its contents. */
  static layer<E>(make: Effect.Effect<StoreWithContents, E, Scope.Scope>): Layer.Layer<Store | StoreContents, E> {
    return Layer.effectContext(
      Effect.map(make, (store) => Context.make(Store, store).pipe(Context.add(StoreContents, store.contents)))
    )
  }

  /**
   * Opens a scoped store for callers outside Effect. The store stays open until `close`, which is safe to call twice.
   * Warnings go to `logger`; the default writes lines of JSON to the standard error.
   */
  static async open<S extends StoreOperations, E>(
    make: Effect.Effect<S, E, Scope.Scope>,
    logger?: HostLogger
  ): Promise<ClosableStore<S>> {
    const scope = Scope.makeUnsafe()
    const context = Context.make(Logger.CurrentLoggers, new Set([resolveLogger(logger)]))
    const exit = await Effect.runPromiseExitWith(context)(Scope.provide(make, scope))
    const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
    if (Exit.isSuccess(exit)) return { ...exit.value, close }
    await close()
    throw Cause.squash(exit.cause)
  }
}

/** A store that was opened outside Effect. Call `close` when you no longer need it. */
export type ClosableStore<S> = S & { readonly close: () => Promise<void> }

const emptyCommit: Effect.Effect<CommitResult> = Effect.succeed({ versions: new Map(), totals: new Map() })
const emptyResult: Effect.Effect<ReadonlyArray<never>> = Effect.succeed([])
