/**
 * Measures every operation of a store, and makes a span for it if it is part of a trace.
 */
import { Cause, Effect, Exit, Layer } from "effect"
import { onExitSync } from "../runtime/onExitSync.ts"
import { hasParentSpan, withSafeSpan } from "../runtime/withSafeSpan.ts"
import { type CommitResult, Store, type StoreOperations } from "../store/Store.ts"
import { StoreConflict } from "../store/StoreError.ts"
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

  const makeMeasure = (operation: OperationName) => {
    const attributes = { ...system, "db.operation.name": operation }
    const recordSuccess = series(instruments.storeDuration, attributes)
    const withSpan = withSafeSpan(`${operation} ${system["db.system.name"]}`, () => ({
      kind: "client",
      attributes
    }))

    return <A, E>(effect: Effect.Effect<A, E>, onExit?: (exit: Exit.Exit<A, E>) => void): Effect.Effect<A, E> =>
      Effect.withFiber((fiber) => {
        const start = performance.now()
        return onExitSync(hasParentSpan(fiber) ? withSpan(effect) : effect, (exit) => {
          const seconds = (performance.now() - start) / 1_000
          if (Exit.isSuccess(exit)) recordSuccess(seconds)
          else series(instruments.storeDuration, { ...attributes, "error.type": describeFailure(exit.cause) })(seconds)
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

  return {
    ...store,
    get: (partition, keys) => measure.get(store.get(partition, keys)),
    getByUniqueKey: (partition, uniqueKeys) => measure.getByUniqueKey(store.getByUniqueKey(partition, uniqueKeys)),
    list: (partition, queries) => measure.list(store.list(partition, queries)),
    counters: (partition, names) => measure.counters(store.counters(partition, names)),
    commit: (partition, changes, idempotency) =>
      measure.commit(store.commit(partition, changes, idempotency), recordCommit),
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
