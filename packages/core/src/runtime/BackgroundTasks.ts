/**
 * Tasks that no response waits for. Closing a Tollgate waits for them.
 */
import { type Context, Effect, Fiber } from "effect"
import { settleWithin } from "./settleWithin.ts"

export interface BackgroundTasks {
  readonly start: (task: Effect.Effect<void>) => void
  /** Waits for the running tasks, then interrupts those that are left. */
  readonly stop: (timeoutMs: number) => Promise<void>
}

export const makeBackgroundTasks = (context: Context.Context<never>): BackgroundTasks => {
  const running = new Set<Fiber.Fiber<void>>()
  return {
    start: (task) => {
      const fiber = Effect.runForkWith(context)(task)
      running.add(fiber)
      fiber.addObserver(() => running.delete(fiber))
    },
    stop: async (timeoutMs) => {
      await settleWithin(timeoutMs, Effect.runPromise(Fiber.awaitAll(running)))
      await Effect.runPromise(Fiber.interruptAll(running))
    }
  }
}
