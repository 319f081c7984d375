/**
 * Connects Tollgate to the OpenTelemetry SDK that the host has registered, through `@opentelemetry/api`.
 */
import * as api from "@opentelemetry/api"
import type { TelemetryBridge } from "@tollgate/core/module"
import { makeMeterBridge } from "./meterBridge.ts"
import { makeTracerBridge } from "./tracerBridge.ts"

/** Of all spans and metrics: core declares them. */
const instrumentationName = "@tollgate/core"

const isTracing = (): boolean => {
  const provider = api.trace.getTracerProvider()
  const unregistered = new api.ProxyTracerProvider().getDelegate()
  return (provider instanceof api.ProxyTracerProvider ? provider.getDelegate() : provider) !== unregistered
}

const isMetering = (): boolean => api.metrics.getMeter(instrumentationName) !== api.createNoopMeter()

/** Returns `undefined` if no SDK is registered. */
export const connectSdk = (): TelemetryBridge | undefined => {
  const tracing = isTracing() ? makeTracerBridge(api.trace.getTracer(instrumentationName)) : undefined
  const meter = isMetering() ? makeMeterBridge(api.metrics.getMeter(instrumentationName)) : undefined
  if (tracing === undefined && meter === undefined) return undefined
  return {
    meter,
    tracer: tracing?.tracer,
    getActiveSpan: tracing?.getActiveSpan ?? (() => undefined),
    getRemoteSpan: tracing?.getRemoteSpan
  }
}
