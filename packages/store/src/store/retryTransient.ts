/**
 * Retries while the server of a store restarts or fails over. It gives up within a second, so that callers fail fast.
 */
import { Clock, Effect, Random, Result } from "effect"
import type { StoreActivity } from "./StoreActivity.ts"
import { StoreUnavailable } from "./StoreError.ts"

/** Milliseconds from the first failure to the last attempt. */
const retryBudgetMs = 700

/** What an error of the driver or the server means for the caller. */
export interface ErrorClass {
  readonly problem: string
  /** The store retries immediately: the server is restarting, failing over, or was briefly unreachable. */
  readonly isTransient: boolean
  /** The caller may retry later without changing anything. */
  readonly retryable: boolean
  /** `not-applied` when the server rejected the call or never received it. */
  readonly outcome: StoreUnavailable["outcome"]
}

export interface RetryOptions {
  readonly activity: StoreActivity
  readonly isClosed: () => boolean
  readonly classifyError: (error: unknown) => ErrorClass
  /** Copies an error without what does not belong into a log, such as passwords and stored data. */
  readonly redactError: (error: unknown) => Error
}

/** Runs `attempt`, which must be safe to repeat, and retries it after transient errors. */
export type RetryTransient = <A>(
  operation: StoreUnavailable["operation"],
  attempt: () => Promise<A>
) => Effect.Effect<A, StoreUnavailable>

export const makeRetryTransient =
  ({ activity, isClosed, classifyError, redactError }: RetryOptions): RetryTransient =>
  (operation, attempt) => {
    const runOnce = Effect.result(Effect.tryPromise({ try: attempt, catch: (error) => ({ error }) }))
    return Effect.gen(function* () {
      let deadline: number | undefined
      let outcome: StoreUnavailable["outcome"] = "not-applied"
      for (let baseDelay = 5; ; baseDelay *= 2) {
        if (isClosed()) {
          return yield* new StoreUnavailable({ operation, problem: "the store is closed", retryable: false, outcome })
        }
        const result = yield* runOnce
        if (Result.isSuccess(result)) return result.success
        const { error } = result.failure
        const { problem, retryable, isTransient, outcome: latest } = classifyError(error)
        if (latest === "unknown") outcome = "unknown"
        const jitteredDelay = yield* Random.nextBetween(baseDelay * 0.5, baseDelay * 1.5)
        deadline ??= performance.now() + retryBudgetMs
        if (!isTransient || performance.now() + jitteredDelay > deadline) {
          return yield* new StoreUnavailable({ operation, problem, retryable, outcome, cause: redactError(error) })
        }
        activity.countRetry()
        // A server restarts in real time, whatever the caller's clock is.
        yield* Effect.provideService(Effect.sleep(jitteredDelay), Clock.Clock, Clock.Clock.defaultValue())
      }
    })
  }
