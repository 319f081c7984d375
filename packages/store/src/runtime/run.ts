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

/** Like `run`, for the hot path: needs no fiber if the effect has ended already. */
export const runPossiblySync = async <A, E, B>(
  effect: Effect.Effect<A, E>,
  context: Context.Context<never>,
  toResult: (value: A) => B
): Promise<B> => {
  const exit = Exit.isExit(effect) ? (effect as Exit.Exit<A, E>) : await Effect.runPromiseExitWith(context)(effect)
  if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
  return toResult(exit.value)
}

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

/** Calls a function. The stack of an error that it throws begins at the caller of `method`. */
// biome-ignore lint/complexity/noBannedTypes: `captureStackTrace` takes any function
export const throwFromCaller = <A>(method: Function, call: () => A): A => {
  try {
    return call()
  } catch (error) {
    if (isTollgateError(error)) Error.captureStackTrace?.(error, method)
    throw error
  }
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
