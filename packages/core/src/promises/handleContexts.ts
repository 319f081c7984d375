/**
 * What bindings need of the Tollgate that a key bucket belongs to. They have only the handle.
 */
import { Context, Logger } from "effect"
import { LimitHomes } from "../rateLimits/LimitHomes.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { jsonLogger } from "../runtime/HostLogger.ts"

interface HandleContext {
  readonly context: Context.Context<never>
  readonly limitHomes: LimitHomes
  readonly keyBucket: KeyBucket | undefined
}

const contexts = new WeakMap<object, HandleContext>()

const loggerContext = Context.make(Logger.CurrentLoggers, new Set([jsonLogger]))

export const setHandleContext = (handle: object, context: HandleContext): void => void contexts.set(handle, context)

/** The default is for an object that only looks like a handle. */
export const getHandleContext = (handle: object): HandleContext =>
  contexts.get(handle) ?? { context: loggerContext, limitHomes: new LimitHomes(), keyBucket: undefined }
