/**
 * Bridges the moment in which Redis restarts or fails over. What is given up is given up within a second, so that a
 * caller is told rather than kept.
 */
import { setTimeout as delay } from "node:timers/promises"
import type { StoreUnavailable } from "@tollgate/core"
import { Effect } from "effect"
import { classifyError, storeClosed, unavailable } from "./classifyError.ts"

/** Milliseconds from the first attempt to the last. */
const retryBudgetMs = 700

/** Repeats `attempt`, which must be safe to repeat, while its failures are passing ones. */
export const retryTransient = <A>(
  operation: StoreUnavailable["operation"],
  isClosed: () => boolean,
  attempt: () => Promise<A>
): Effect.Effect<A, StoreUnavailable> =>
  Effect.tryPromise({
    try: async (signal) => {
      const deadline = performance.now() + retryBudgetMs
      let outcome: StoreUnavailable["outcome"] = "not-applied"
      for (let pause = 5; ; pause *= 2) {
        if (isClosed()) throw storeClosed(operation, outcome)
        try {
          return await attempt()
        } catch (error) {
          const fault = classifyError(error)
          if (fault.applied === "unknown") outcome = "unknown"
          const wait = pause * (0.5 + Math.random())
          if (!fault.passing || signal.aborted || performance.now() + wait > deadline) {
            throw unavailable(operation, error, outcome)
          }
          await delay(wait)
        }
      }
    },
    // Only that is ever thrown.
    catch: (error) => error as StoreUnavailable
  })
