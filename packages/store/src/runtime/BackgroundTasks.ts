/**
 * Tasks that no response waits for. Closing a Tollgate waits for them.
 */
import { type Context, Deferred, type Duration, Effect, Fiber } from "effect"
import { settleWithin } from "./settleWithin.ts"

export interface BackgroundTasks {
  readonly start: (task: Effect.Effect<void>) => void
  /** For tasks: pauses, but not once they are to stop. */
  readonly pause: (duration: Duration.Input) => Effect.Effect<void>
  /** Waits for the running tasks, then interrupts those that are left. */
  readonly stop: (timeoutMs: number) => Promise<void>
}

export const makeBackgroundTasks = (context: Context.Context<never>): BackgroundTasks => {
  const running = new Set<Fiber.Fiber<void>>()
  const stopping = Deferred.makeUnsafe<void>()
  return {
    start: (task) => {
      const fiber = Effect.runForkWith(context)(task)
      running.add(fiber)
      fiber.addObserver(() => running.delete(fiber))
    },
    pause: (duration) => Effect.raceFirst(Effect.sleep(duration), Deferred.await(stopping)),
    stop: async (timeoutMs) => {
      Deferred.doneUnsafe(stopping, Effect.void)
      await settleWithin(timeoutMs, Effect.runPromise(Fiber.awaitAll(running)))
      await Effect.runPromise(Fiber.interruptAll(running))
    }
  }
}
