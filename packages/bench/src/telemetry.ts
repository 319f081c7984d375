/**
 * What telemetry costs: `authorize` within a span of the host, while an OpenTelemetry SDK records everything, compared
 * with `authorize` without the module.
 */
import { join } from "node:path"
import { context, metrics, trace } from "@opentelemetry/api"
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks"
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader
} from "@opentelemetry/sdk-metrics"
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace"
import { MemoryStore } from "@tollgate/memory"
import { openTelemetry } from "@tollgate/opentelemetry"
import { SqliteStore } from "@tollgate/sqlite"
import type { StoreOperations } from "@tollgate/store"
import { concurrency, loadCustomers } from "./customers.ts"
import { compare, type Effort, runConcurrently } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"

/** Takes part in everything but the sending. */
const discardSpans: SpanExporter = {
  export: (_, done) => done({ code: 0 }),
  shutdown: async () => undefined
}

const registerSdk = (): void => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(
    new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter: discardSpans })] })
  )
  const exporter = new InMemoryMetricExporter(AggregationTemporality.DELTA)
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] }))
}

const measure = async (storeName: string, stores: ReadonlyArray<StoreOperations>, effort: Effort): Promise<Row> => {
  const [plainStore, tracedStore] = stores as [StoreOperations, StoreOperations]
  const plain = await loadCustomers(plainStore)
  // A gate uses the SDK that is registered when it is created.
  registerSdk()
  const traced = await loadCustomers(tracedStore, undefined, [openTelemetry()])
  const tracer = trace.getTracer("bench")
  const authorizeInSpan = (index: number) =>
    tracer.startActiveSpan("request", async (span) => {
      await traced.authorizeLimited(index)
      span.end()
    })
  const comparison = await compare(
    runConcurrently(concurrency, authorizeInSpan),
    runConcurrently(concurrency, plain.authorizeLimited),
    effort
  )
  await plain.gate.close()
  await traced.gate.close()
  return {
    name: `authorize with rate limit and quota, ${storeName}, all spans and metrics recorded`,
    comparedWith: "the same without an OpenTelemetry SDK",
    ...comparison
  }
}

export const telemetryInMemory = (effort: Effort): Promise<Row> =>
  measure("memory", [MemoryStore.open(), MemoryStore.open()], effort)

export const telemetryOnSqlite = async ({ folder }: Resources, effort: Effort): Promise<Row> => {
  const stores = await Promise.all(
    ["plain.db", "traced.db"].map((name) => SqliteStore.open(join(folder, `telemetry-${name}`)))
  )
  const row = await measure("SQLite file", stores, effort)
  for (const store of stores) await store.close()
  return row
}
