/**
 * The context of the Tollgate that a handle belongs to, for bindings, which have only the handle.
 */
import { Context, Logger } from "effect"
import { jsonLogger } from "../runtime/HostLogger.ts"

const contexts = new WeakMap<object, Context.Context<never>>()

const defaultContext = Context.make(Logger.CurrentLoggers, new Set([jsonLogger]))

export const setHandleContext = (handle: object, context: Context.Context<never>): void =>
  void contexts.set(handle, context)

/** The default is for an object that only looks like a handle. */
export const getHandleContext = (handle: object): Context.Context<never> => contexts.get(handle) ?? defaultContext
