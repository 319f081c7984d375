/**
 * A store that fails on demand: the n-th call is refused, or done and its reply lost, or kept waiting. For trying what a
 * service leaves behind when its store lets it down, at every call that it makes.
 */
import { type StoreOperations, StoreUnavailable } from "@tollgate/core"
import { Effect } from "effect"

/**
 * `fail`: not done. `drop`: done, and nobody is told. `delay`: done after everybody else has had a turn. `meanwhile`:
 * done after something else, whole.
 */
export type Fault = "fail" | "drop" | "delay" | { readonly meanwhile: Effect.Effect<unknown> }

export interface FaultyStore {
  readonly store: StoreOperations
  /** Lets the n-th call from now, counted from 1, go wrong; the others are left alone. */
  readonly injectAt: (call: number, fault: Fault) => void
  /** How many calls there were since then. */
  readonly calls: () => number
}

type Call = keyof StoreOperations

const unavailable = (operation: Call, fault: Fault) =>
  new StoreUnavailable({
    operation,
    problem: "it was made to fail",
    retryable: true,
    outcome: fault === "drop" ? "unknown" : "not-applied"
  })

const turns = Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow, { discard: true })

export const makeFaultyStore = (store: StoreOperations): FaultyStore => {
  let [made, at, how]: [number, number, Fault] = [0, 0, "fail"]

  const tried = <A, E>(operation: Call, work: () => Effect.Effect<A, E>): Effect.Effect<A, E | StoreUnavailable> =>
    Effect.suspend((): Effect.Effect<A, E | StoreUnavailable> => {
      if (++made !== at) return work()
      if (how === "fail") return Effect.fail(unavailable(operation, how))
      if (how === "drop") return Effect.andThen(work(), Effect.fail(unavailable(operation, how)))
      return Effect.andThen(how === "delay" ? turns : how.meanwhile, Effect.suspend(work))
    })

  return {
    store: {
      get: (...given) => tried("get", () => store.get(...given)),
      getByUniqueKey: (...given) => tried("getByUniqueKey", () => store.getByUniqueKey(...given)),
      list: (...given) => tried("list", () => store.list(...given)),
      counters: (...given) => tried("counters", () => store.counters(...given)),
      commit: (...given) => tried("commit", () => store.commit(...given)),
      clear: (...given) => tried("clear", () => store.clear(...given))
    },
    injectAt: (call, fault) => {
      made = 0
      at = call
      how = fault
    },
    calls: () => made
  }
}
