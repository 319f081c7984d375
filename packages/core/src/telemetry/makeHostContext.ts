/**
 * The context in which the promise API runs: the host's logger, its tracer, and a metric registry of its own.
 */

import { type HostLogger, Options, resolveLogger } from "@tollgate/store/internal"
import { Context, Logger, Metric, References, Tracer } from "effect"
import { HostTelemetry, type TelemetryBridge } from "./HostTelemetry.ts"
import { SpanNames } from "./SpanNames.ts"

/** What Tollgate adds to the spans that it creates. */
export interface TelemetryOptions {
  /** Adds the names of accounts, key buckets and consumers to spans, and the paths of requests. Default: false. */
  readonly spanNames?: boolean | undefined
}

export const telemetryOptions = Options.struct<TelemetryOptions>()({
  spanNames: Options.optional(Options.literals([true, false], "must be true or false"))
})

export interface HostContext {
  readonly context: Context.Context<never>
  /** Whether the host traces: then every operation needs a fiber, which has the span. */
  readonly isTraced: boolean
  /** Adds the span that is active in the host now: the spans of the call become its children. */
  readonly withActiveSpan: (context: Context.Context<never>) => Context.Context<never>
}

/** Without a logger, tracer and metrics of the host: for programs that use Effect, which bring their own. */
export const emptyHostContext: HostContext = {
  context: Context.empty(),
  isTraced: false,
  withActiveSpan: (context) => context
}

export const makeHostContext = (
  logger: HostLogger | undefined,
  { spanNames = false }: TelemetryOptions = {},
  bridge?: TelemetryBridge
): HostContext => {
  const tracer = bridge?.tracer
  const references = [
    Context.make(Metric.MetricRegistry, new Map()),
    Context.make(Logger.CurrentLoggers, new Set([resolveLogger(logger)])),
    // A logger of the host has a level of its own.
    Context.make(References.MinimumLogLevel, logger === undefined ? "Info" : "Debug"),
    Context.make(HostTelemetry, bridge),
    Context.make(SpanNames, spanNames),
    tracer === undefined ? Context.empty() : Context.make(Tracer.Tracer, tracer)
  ] as const
  return {
    // Looking up a service is faster than in a context that was made by adding one after the other.
    context: Context.mergeAll(...references),
    isTraced: tracer !== undefined,
    withActiveSpan: (context) => {
      const span = bridge?.getActiveSpan()
      return span === undefined ? context : Context.add(context, Tracer.ParentSpan, span)
    }
  }
}
