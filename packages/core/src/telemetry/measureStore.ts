/**
 * Measures every operation of a store, and makes a span for it if it is part of a trace.
 */
import { Cause, Effect, Exit, Layer } from "effect"
import { onExitSync } from "../runtime/onExitSync.ts"
import { hasParentSpan, withSafeSpan } from "../runtime/withSafeSpan.ts"
import { type Commit, type CommitResult, type GetByUniqueKey, Store, type StoreOperations } from "../store/Store.ts"
import { StoreConflict } from "../store/StoreError.ts"
import { withNow } from "../store/withNow.ts"
import { instruments } from "./instruments.ts"
import { observeScoped, Telemetry, type TelemetryShape } from "./Telemetry.ts"

type OperationName = "get" | "getByUniqueKey" | "list" | "counters" | "commit" | "clear"

const getSystem = ({ description }: StoreOperations) => ({ "db.system.name": description?.system ?? "other" })

/** The reason of a conflict; otherwise whether the operation was interrupted or the store could not be reached. */
const describeFailure = (cause: Cause.Cause<unknown>): string => {
  if (Cause.hasInterruptsOnly(cause)) return "interrupted"
  const error = Cause.squash(cause)
  return error instanceof StoreConflict ? error.reason : "unavailable"
}

const describeCommit = (exit: Exit.Exit<CommitResult, unknown>): string => {
  if (Exit.isFailure(exit)) return describeFailure(exit.cause)
  return exit.value.replayed === undefined ? "applied" : "replayed"
}

/**
 * A store in the memory of the process is measured only with an OpenTelemetry SDK: measuring an operation takes about as
 * long as the operation.
 */
export const measureStore = (store: StoreOperations, { hasSdk, series }: TelemetryShape): StoreOperations => {
  const system = getSystem(store)
  if (system["db.system.name"] === "memory" && !hasSdk) return store
  const countApplied = series(instruments.commits, { ...system, "tollgate.outcome": "applied" })

  const recordCommit = (exit: Exit.Exit<CommitResult, unknown>): void => {
    const outcome = describeCommit(exit)
    if (outcome === "applied") countApplied(1)
    else series(instruments.commits, { ...system, "tollgate.outcome": outcome })(1)
  }

  const makeRecordDuration = (operation: OperationName) => {
    const attributes = { ...system, "db.operation.name": operation }
    const recordSuccess = series(instruments.storeDuration, attributes)
    return (exit: Exit.Exit<unknown, unknown>, start: number): void => {
      const seconds = (performance.now() - start) / 1_000
      if (Exit.isSuccess(exit)) recordSuccess(seconds)
      else series(instruments.storeDuration, { ...attributes, "error.type": describeFailure(exit.cause) })(seconds)
    }
  }

  const makeMeasure = (operation: OperationName) => {
    const record = makeRecordDuration(operation)
    const withSpan = withSafeSpan(`${operation} ${system["db.system.name"]}`, () => ({
      kind: "client",
      attributes: { ...system, "db.operation.name": operation }
    }))

    return <A, E>(effect: Effect.Effect<A, E>, onExit?: (exit: Exit.Exit<A, E>) => void): Effect.Effect<A, E> =>
      Effect.withFiber((fiber) => {
        const start = performance.now()
        return onExitSync(hasParentSpan(fiber) ? withSpan(effect) : effect, (exit) => {
          record(exit, start)
          onExit?.(exit)
        })
      })
  }

  const measure = {
    get: makeMeasure("get"),
    getByUniqueKey: makeMeasure("getByUniqueKey"),
    list: makeMeasure("list"),
    counters: makeMeasure("counters"),
    commit: makeMeasure("commit"),
    clear: makeMeasure("clear")
  }

  /** Measures an operation that answers at once. A span needs a fiber: with a tracer, there are no such operations. */
  const measureNow = <Args extends ReadonlyArray<unknown>, A, E>(
    operation: "getByUniqueKey" | "commit",
    run: ((...args: Args) => Exit.Exit<A, E> | undefined) | undefined,
    onExit?: (exit: Exit.Exit<A, E>) => void
  ) => {
    if (run === undefined || hasSdk) return undefined
    const record = makeRecordDuration(operation)
    return (...args: Args) => {
      const start = performance.now()
      const exit = run(...args)
      if (exit === undefined) return undefined
      record(exit, start)
      onExit?.(exit)
      return exit
    }
  }

  return {
    ...store,
    get: (partition, keys) => measure.get(store.get(partition, keys)),
    getByUniqueKey: withNow<GetByUniqueKey>(
      (partition, uniqueKeys) => measure.getByUniqueKey(store.getByUniqueKey(partition, uniqueKeys)),
      measureNow("getByUniqueKey", store.getByUniqueKey.now)
    ),
    list: (partition, queries) => measure.list(store.list(partition, queries)),
    counters: (partition, names) => measure.counters(store.counters(partition, names)),
    commit: withNow<Commit>(
      (partition, changes, idempotency) => measure.commit(store.commit(partition, changes, idempotency), recordCommit),
      measureNow("commit", store.commit.now, recordCommit)
    ),
    clear: (partition) => measure.clear(store.clear(partition))
  }
}

export const measuredStoreLayer: Layer.Layer<Store, never, Store> = Layer.effect(
  Store,
  Effect.gen(function* () {
    const store = yield* Store
    const { description } = store
    const system = getSystem(store)
    if (description?.countQueued !== undefined) {
      yield* observeScoped(instruments.storeQueue, description.countQueued, system)
    }
    if (description?.countRetries !== undefined) {
      yield* observeScoped(instruments.storeRetries, description.countRetries, system)
    }
    return measureStore(store, yield* Telemetry)
  })
)
