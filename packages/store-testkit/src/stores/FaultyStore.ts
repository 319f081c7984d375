/**
 * A store that injects a fault into its n-th call. Use it to test the state that a service leaves when any of its store
 * calls fails.
 */
import { type StoreOperations, StoreUnavailable } from "@tollgate/store"
import { Effect } from "effect"

/**
 * - `fail`: the call fails without being applied
 * - `lose-reply`: the call is applied, and then fails with an unknown outcome
 * - `delay`: the call is applied after other fibers have run
 * - `interleave`: the call is applied after the given effect has completed
 */
export type Fault = "fail" | "lose-reply" | "delay" | { readonly interleave: Effect.Effect<unknown> }

/** A store that fails when you tell it to. */
export interface FaultyStore {
  readonly store: StoreOperations
  /** Injects a fault into the n-th call from now, counted from 1. All other calls work normally. */
  readonly injectAt: (call: number, fault: Fault) => void
  /** The number of calls since the last `injectAt`. */
  readonly calls: () => number
}

type Operation = Exclude<keyof StoreOperations, "description">

const unavailable = (operation: Operation, fault: Fault) =>
  new StoreUnavailable({
    operation,
    problem: "FaultyStore injected a fault",
    retryable: true,
    outcome: fault === "lose-reply" ? "unknown" : "not-applied"
  })

const yieldToOtherFibers = Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow, { discard: true })

/**
 * Wraps a store. Calls that `isIgnored` accepts are neither counted nor disturbed: use it for background jobs, which call
 * at any time. It gets the name of the operation and its arguments.
 */
export const makeFaultyStore = (
  store: StoreOperations,
  isIgnored: (operation: Operation, partition: string, items: unknown) => boolean = () => false
): FaultyStore => {
  let calls = 0
  let faultyCall = 0
  let fault: Fault = "fail"

  const inject = <A, E>(
    operation: Operation,
    [partition, items]: readonly [string, unknown?, ...ReadonlyArray<unknown>],
    run: () => Effect.Effect<A, E>
  ): Effect.Effect<A, E | StoreUnavailable> =>
    Effect.suspend((): Effect.Effect<A, E | StoreUnavailable> => {
      if (isIgnored(operation, partition, items)) return run()
      if (++calls !== faultyCall) return run()
      if (fault === "fail") return Effect.fail(unavailable(operation, fault))
      if (fault === "lose-reply") return Effect.andThen(run(), Effect.fail(unavailable(operation, fault)))
      return Effect.andThen(fault === "delay" ? yieldToOtherFibers : fault.interleave, Effect.suspend(run))
    })

  return {
    store: {
      get: (...args) => inject("get", args, () => store.get(...args)),
      getByUniqueKey: (...args) => inject("getByUniqueKey", args, () => store.getByUniqueKey(...args)),
      list: (...args) => inject("list", args, () => store.list(...args)),
      search: (...args) => inject("search", args, () => store.search(...args)),
      counters: (...args) => inject("counters", args, () => store.counters(...args)),
      commit: (...args) => inject("commit", args, () => store.commit(...args)),
      clear: (...args) => inject("clear", args, () => store.clear(...args))
    },
    injectAt: (call, nextFault) => {
      calls = 0
      faultyCall = call
      fault = nextFault
    },
    calls: () => calls
  }
}
