/**
 * Retries while Redis restarts or fails over. It gives up within a second, so that callers fail fast.
 */
import { setTimeout as delay } from "node:timers/promises"
import type { StoreUnavailable } from "@tollgate/core/store"
import { Effect } from "effect"
import { classifyError, makeClosedError, toUnavailable } from "./classifyError.ts"

/** Milliseconds from the first attempt to the last. */
const retryBudgetMs = 700

/** Runs `attempt`, which must be safe to repeat, and retries it after transient errors. */
export const retryTransient = <A>(
  operation: StoreUnavailable["operation"],
  isClosed: () => boolean,
  attempt: () => Promise<A>
): Effect.Effect<A, StoreUnavailable> =>
  Effect.tryPromise({
    try: async (signal) => {
      const deadline = performance.now() + retryBudgetMs
      let outcome: StoreUnavailable["outcome"] = "not-applied"
      for (let baseDelay = 5; ; baseDelay *= 2) {
        if (isClosed()) throw makeClosedError(operation, outcome)
        try {
          return await attempt()
        } catch (error) {
          const errorClass = classifyError(error)
          if (errorClass.outcome === "unknown") outcome = "unknown"
          const jitteredDelay = baseDelay * (0.5 + Math.random())
          if (!errorClass.isTransient || signal.aborted || performance.now() + jitteredDelay > deadline) {
            throw toUnavailable(operation, error, outcome)
          }
          await delay(jitteredDelay)
        }
      }
    },
    // `try` throws nothing else.
    catch: (error) => error as StoreUnavailable
  })
