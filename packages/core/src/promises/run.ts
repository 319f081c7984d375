/**
 * Runs effects as promises, which reject with the errors of the operations and not with a FiberFailure.
 */
import { Cause, Context, Effect, Exit } from "effect"
import { isTollgateError } from "../errors/TollgateError.ts"

/** Runs an effect. If `signal` aborts, interrupts it and rejects with the signal's reason. */
export const run = async <A, E>(
  effect: Effect.Effect<A, E>,
  signal?: AbortSignal,
  context: Context.Context<never> = Context.empty()
): Promise<A> => {
  signal?.throwIfAborted()
  const exit = await Effect.runPromiseExitWith(context)(effect, signal === undefined ? {} : { signal })
  if (Exit.isSuccess(exit)) return exit.value
  if (signal?.aborted === true && Cause.hasInterruptsOnly(exit.cause)) throw signal.reason
  throw Cause.squash(exit.cause)
}

/**
 * Like `run`, for the hot path: needs no fiber if `start` returns an `Exit`. If `start` throws, the promise rejects: a
 * proxy as input may throw.
 */
export const runPossiblySync = <A, E, B>(
  start: () => Effect.Effect<A, E>,
  context: Context.Context<never>,
  toResult: (value: A) => B,
  onExit?: (exit: Exit.Exit<A, E>) => void
): Promise<B> =>
  new Promise((resolve, reject) => {
    const finish = (exit: Exit.Exit<A, E>): void => {
      try {
        onExit?.(exit)
        if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
        resolve(toResult(exit.value))
      } catch (error) {
        reject(error)
      }
    }
    let effect: Effect.Effect<A, E>
    try {
      effect = start()
    } catch (error) {
      return finish(Exit.die(error))
    }
    if (Exit.isExit(effect)) finish(effect as Exit.Exit<A, E>)
    else Effect.runForkWith(context)(effect).addObserver(finish)
  })

/** Calls a function that returns a promise. If the function throws, the promise rejects: a proxy as input may throw. */
export const rejectIfThrows = <A>(start: () => Promise<A>): Promise<A> => {
  try {
    return start()
  } catch (error) {
    return Promise.reject(error)
  }
}

/** The stack of the caller of `method`. Its first line is `Error`. */
// biome-ignore lint/complexity/noBannedTypes: `captureStackTrace` takes any function
export const captureCaller = (method: Function): { readonly stack?: string } => {
  const caller: { stack?: string } = {}
  Error.captureStackTrace?.(caller, method)
  return caller
}

/** Replaces the stack of an error, which ends inside Effect, by the stack of the caller. */
export const withCallerStack = async <A>(promise: Promise<A>, caller: { readonly stack?: string }): Promise<A> => {
  try {
    return await promise
  } catch (error) {
    const frames = /\n.*/s.exec(caller.stack ?? "")?.[0]
    if (isTollgateError(error) && frames !== undefined) {
      Object.defineProperty(error, "stack", {
        value: `${error.name}: ${error.message}${frames}`,
        configurable: true,
        writable: true
      })
    }
    throw error
  }
}
