/**
 * What a host sees of decisions as they are made: the calls of `onDecision`, and a line in the log for each refusal.
 */

import { omitUndefined } from "@tollgate/store/internal"
import { Clock, Context, Effect, Layer, References } from "effect"
import { DecisionObservers, type ObservedDecision } from "./DecisionObservers.ts"

/** A decision, as `onDecision` is told of it. */
export interface DecisionNotice {
  /** When the key was checked. */
  readonly decidedOn: string
  readonly accountName: string
  readonly bucketName: string
  readonly allowed: boolean
  /** Why the request was refused. */
  readonly reason?: string | undefined
  /** Whose key it is, if the key exists: also if it is disabled or has expired. */
  readonly consumerName?: string | undefined
  readonly consumerId?: string | undefined
  readonly keyId?: string | undefined
  /** The rate limit that refused. */
  readonly limit?: string | undefined
  /** The meter that refused. */
  readonly meter?: string | undefined
  /** The id that the response to a refused request names. */
  readonly requestId?: string | undefined
  /** The route, as the framework writes it, such as `GET /orders/:id`. */
  readonly route?: string | undefined
  /** The address of the client. */
  readonly ip?: string | undefined
}

export type OnDecision = (decision: DecisionNotice) => void | Promise<void>

const describe = ({ bucket, result, now, source, owner }: ObservedDecision): DecisionNotice => ({
  decidedOn: new Date(now).toISOString(),
  ...bucket,
  allowed: result.allowed,
  ...(result.allowed ? {} : { reason: result.reason }),
  ...(owner && { consumerName: owner.consumer.name, consumerId: owner.consumer.id, keyId: owner.keyId }),
  ...("limit" in result ? { limit: result.limit } : {}),
  ...("meter" in result ? { meter: result.meter } : {}),
  ...omitUndefined({
    requestId: result.allowed ? undefined : source?.requestId?.(),
    route: source?.route?.(),
    ip: typeof source?.ip === "function" ? source.ip() : source?.ip
  })
})

const lines = { perSecond: 100, window: "1 second", windowMs: 1_000 } as const

/** Logs refusals, at most 100 a second, and then how many it has left out. */
const logRefusals = Effect.gen(function* () {
  const context = yield* Effect.context<never>()
  const clock = yield* Clock.Clock
  const run = Effect.runForkWith(context)
  let start = Number.NEGATIVE_INFINITY
  let logged = 0
  let omitted = 0

  const logOmitted = Effect.suspend(() => {
    const count = omitted
    omitted = 0
    return Effect.logDebug(`${count} more requests were refused, too many to log`)
  })

  return (decision: ObservedDecision): void => {
    if (decision.result.allowed) return
    const now = clock.currentTimeMillisUnsafe()
    if (Math.abs(now - start) >= lines.windowMs) {
      start = now
      logged = 0
    }
    if (++logged > lines.perSecond) {
      if (++omitted === 1) run(Effect.andThen(Effect.sleep(lines.window), logOmitted))
      return
    }
    const { allowed: _, decidedOn: __, ...fields } = describe(decision)
    run(Effect.annotateLogs(Effect.logDebug("A request was refused"), fields))
  }
})

const minute = 60_000

/** Calls a function of the host after each decision. What it throws is logged, once a minute. */
const callAfterDecision = Effect.fnUntraced(function* (onDecision: OnDecision) {
  const context = yield* Effect.context<never>()
  const clock = yield* Clock.Clock
  let loggedAt = Number.NEGATIVE_INFINITY
  const logError = (error: unknown): void => {
    const now = clock.currentTimeMillisUnsafe()
    if (Math.abs(now - loggedAt) < minute) return
    loggedAt = now
    const details = error instanceof Error ? (error.stack ?? error.message) : String(error)
    Effect.runForkWith(context)(Effect.logError("onDecision failed", details))
  }
  return (decision: ObservedDecision): void => {
    // Its request may be gone by then.
    const notice = describe(decision)
    Promise.resolve(notice).then(onDecision).catch(logError)
  }
})

/** An observer must not throw: the functions of a host that it calls may. */
const guard =
  (observe: (decision: ObservedDecision) => void) =>
  (decision: ObservedDecision): void => {
    try {
      observe(decision)
    } catch {
      // The host's function that finds the address has thrown. It is called again, and reported, where it matters.
    }
  }

const writesDebug: ReadonlyArray<string> = ["All", "Trace", "Debug"]

/** Registers the hooks of a host. Without them, and without debug lines, decisions cost nothing more. */
export const decisionHooksLayer = (onDecision: OnDecision | undefined): Layer.Layer<never, never, DecisionObservers> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { register } = yield* DecisionObservers
      const level = Context.get(yield* Effect.context<never>(), References.MinimumLogLevel)
      if (writesDebug.includes(level)) yield* register(guard(yield* logRefusals))
      if (onDecision !== undefined) yield* register(guard(yield* callAfterDecision(onDecision)))
    })
  )
