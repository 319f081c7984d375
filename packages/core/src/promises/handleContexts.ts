/**
 * What bindings need of the Tollgate that a key bucket belongs to. They have only the handle.
 */
import { Context, Logger } from "effect"
import type { RateLimitPolicy } from "../rateLimits/RateLimit.ts"
import { jsonLogger } from "../runtime/HostLogger.ts"

interface HandleContext {
  readonly context: Context.Context<never>
  /** Remembers in which bucket a route counts its limits. Throws if another route counts one of them elsewhere. */
  readonly addLimits: (policies: ReadonlyArray<RateLimitPolicy>, meteringBucketId: string | undefined) => void
  /** Remembers valid keys from now on, and returns the function that says whether a key was valid lately. */
  readonly rememberKeys: () => (key: string, scopes: ReadonlyArray<string>) => boolean
}

const contexts = new WeakMap<object, HandleContext>()

/** For an object that only looks like a handle. */
const defaultContext: HandleContext = {
  context: Context.make(Logger.CurrentLoggers, new Set([jsonLogger])),
  addLimits: () => undefined,
  rememberKeys: () => () => false
}

export const setHandleContext = (handle: object, context: HandleContext): void => void contexts.set(handle, context)

export const getHandleContext = (handle: object): HandleContext => contexts.get(handle) ?? defaultContext
