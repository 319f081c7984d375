/**
 * Registers the tracing SDK of OpenTelemetry, as a host does, and collects the spans in memory.
 */
import * as api from "@opentelemetry/api"
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks"
import { W3CTraceContextPropagator } from "@opentelemetry/core"
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace"

export const getSpanId = (span: ReadableSpan): string => span.spanContext().spanId

/** Registers for the whole process: a test file calls it once, before it creates a Tollgate. */
export const registerTracing = () => {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const contextManager = new AsyncLocalStorageContextManager().enable()
  api.trace.setGlobalTracerProvider(provider)
  api.context.setGlobalContextManager(contextManager)
  api.propagation.setGlobalPropagator(new W3CTraceContextPropagator())

  const getSpans = (): ReadonlyArray<ReadableSpan> => exporter.getFinishedSpans()
  return {
    tracer: api.trace.getTracer("host"),
    getSpans,
    getTrace: (traceId: string) => getSpans().filter((span) => span.spanContext().traceId === traceId),
    getChildren: (spanId: string) => getSpans().filter((span) => span.parentSpanContext?.spanId === spanId),
    reset: () => exporter.reset(),
    unregister: async () => {
      api.trace.disable()
      api.context.disable()
      api.propagation.disable()
      await provider.shutdown()
    }
  }
}
