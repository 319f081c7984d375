/**
 * Measures every operation of a store, and makes a span for it if it is part of a trace.
 */

import {
  type CommitResult,
  type HotPath,
  hasParentSpan,
  onExitEager,
  Store,
  StoreConflict,
  type StoreOperations,
  withSafeSpan
} from "@tollgate/store/internal"
import { Cause, type Clock, Effect, Exit, Layer } from "effect"
import { instruments } from "./instruments.ts"
import { observeScoped, type RecordValue, Telemetry, type TelemetryShape } from "./Telemetry.ts"

type OperationName = "get" | "getByUniqueKey" | "list" | "search" | "counters" | "commit" | "clear"

const getSystem = ({ description }: StoreOperations) => ({ "db.system.name": description?.system ?? "other" })

/** The reason of a conflict; otherwise whether the operation was interrupted or the store could not be reached. */
const describeFailure = (cause: Cause.Cause<unknown>): string => {
  if (Cause.hasInterruptsOnly(cause)) return "interrupted"
  const error = Cause.squash(cause)
  return error instanceof StoreConflict ? error.reason : "unavailable"
}

/**
 * Makes the function that records an operation that began at `start`, in milliseconds of `performance.now`. There is none
 * for a store in the memory of the process, unless a module takes metrics: measuring an operation takes about as
 * long as the operation.
 */
const makeRecord = (store: StoreOperations, { isBridged, series }: TelemetryShape) => {
  const system = getSystem(store)
  if (system["db.system.name"] === "memory" && !isBridged) return undefined
  const toAttributes = (operation: OperationName) => ({ ...system, "db.operation.name": operation })
  const ofSuccess = (operation: OperationName) => series(instruments.storeDuration, toAttributes(operation))
  const recordSuccess: Readonly<Record<OperationName, RecordValue>> = {
    get: ofSuccess("get"),
    getByUniqueKey: ofSuccess("getByUniqueKey"),
    list: ofSuccess("list"),
    search: ofSuccess("search"),
    counters: ofSuccess("counters"),
    commit: ofSuccess("commit"),
    clear: ofSuccess("clear")
  }
  const countApplied = series(instruments.commits, { ...system, "tollgate.outcome": "applied" })

  return (operation: OperationName, exit: Exit.Exit<unknown, unknown>, start: number): void => {
    const seconds = (performance.now() - start) / 1_000
    let outcome = "applied"
    if (Exit.isFailure(exit)) {
      outcome = describeFailure(exit.cause)
      series(instruments.storeDuration, { ...toAttributes(operation), "error.type": outcome })(seconds)
    } else {
      recordSuccess[operation](seconds)
      if (operation === "commit" && (exit.value as CommitResult).replayed !== undefined) outcome = "replayed"
    }
    if (operation !== "commit") return
    if (outcome === "applied") countApplied(1)
    else series(instruments.commits, { ...system, "tollgate.outcome": outcome })(1)
  }
}

/** Measures every operation, and makes a span for it if it is part of a trace. */
export const measureStore = (store: StoreOperations, telemetry: TelemetryShape): StoreOperations => {
  const record = makeRecord(store, telemetry)
  if (record === undefined) return store
  const system = getSystem(store)

  const makeMeasure = (operation: OperationName) => {
    const withSpan = withSafeSpan(`${operation} ${system["db.system.name"]}`, () => ({
      kind: "client",
      attributes: { ...system, "db.operation.name": operation }
    }))
    return <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.withFiber((fiber) => {
        const start = performance.now()
        return onExitEager(hasParentSpan(fiber) ? withSpan(effect) : effect, (exit) => record(operation, exit, start))
      })
  }

  const measureGet = makeMeasure("get")
  const measureGetByUniqueKey = makeMeasure("getByUniqueKey")
  const measureList = makeMeasure("list")
  const measureSearch = makeMeasure("search")
  const measureCounters = makeMeasure("counters")
  const measureCommit = makeMeasure("commit")
  const measureClear = makeMeasure("clear")
  return {
    ...store,
    get: (partition, keys) => measureGet(store.get(partition, keys)),
    getByUniqueKey: (partition, uniqueKeys) => measureGetByUniqueKey(store.getByUniqueKey(partition, uniqueKeys)),
    list: (partition, queries) => measureList(store.list(partition, queries)),
    search: (partition, queries) => measureSearch(store.search(partition, queries)),
    counters: (partition, names) => measureCounters(store.counters(partition, names)),
    commit: (partition, changes, idempotency) => measureCommit(store.commit(partition, changes, idempotency)),
    clear: (partition) => measureClear(store.clear(partition))
  }
}

/**
 * The hot path of a Tollgate without a tracer: the store answers at once, if it can, and every operation is measured. There
 * is no fiber, and so no span.
 */
export const makeHotPath = (store: StoreOperations, clock: Clock.Clock, telemetry: TelemetryShape): HotPath => {
  const record = makeRecord(store, telemetry)
  const { now: getNow } = store.getByUniqueKey
  const { now: commitNow } = store.commit
  return {
    clock,
    store: {
      getByUniqueKey: (partition, uniqueKeys) => {
        const start = record && performance.now()
        const reading = getNow?.(partition, uniqueKeys) ?? store.getByUniqueKey(partition, uniqueKeys)
        if (start === undefined) return reading
        return onExitEager(reading, (exit) => record?.("getByUniqueKey", exit, start))
      },
      commit: (partition, changes) => {
        const start = record && performance.now()
        const committing = commitNow?.(partition, changes, clock) ?? store.commit(partition, changes)
        if (start === undefined) return committing
        return onExitEager(committing, (exit) => record?.("commit", exit, start))
      }
    }
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
