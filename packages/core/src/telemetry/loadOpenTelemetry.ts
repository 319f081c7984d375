/**
 * Connects Tollgate to the OpenTelemetry SDK that the host has registered, through `@opentelemetry/api`.
 */
import type * as Api from "@opentelemetry/api"
import { makeMeterBridge } from "./meterBridge.ts"
import type { OpenTelemetryBridge } from "./OpenTelemetry.ts"
import { makeTracerBridge } from "./tracerBridge.ts"

const instrumentationName = "@tollgate/core"

const isTracing = (api: typeof Api): boolean => {
  const provider = api.trace.getTracerProvider()
  const unregistered = new api.ProxyTracerProvider().getDelegate()
  return (provider instanceof api.ProxyTracerProvider ? provider.getDelegate() : provider) !== unregistered
}

const isMetering = (api: typeof Api): boolean => api.metrics.getMeter(instrumentationName) !== api.createNoopMeter()

/** Returns `undefined` if `@opentelemetry/api` is not installed, or if no SDK is registered. */
export const loadOpenTelemetry = async (): Promise<OpenTelemetryBridge | undefined> => {
  // It is optional: without it, the import fails.
  const api: typeof Api | undefined = await import("@opentelemetry/api").catch(() => undefined)
  if (api === undefined) return undefined
  const tracing = isTracing(api) ? makeTracerBridge(api, api.trace.getTracer(instrumentationName)) : undefined
  const meter = isMetering(api) ? makeMeterBridge(api.metrics.getMeter(instrumentationName)) : undefined
  if (tracing === undefined && meter === undefined) return undefined
  return {
    meter,
    tracer: tracing?.tracer,
    getActiveSpan: tracing?.getActiveSpan ?? (() => undefined),
    getRemoteSpan: tracing?.getRemoteSpan
  }
}
