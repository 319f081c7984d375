/**
 * Registers the metrics SDK of OpenTelemetry, as a host does, and collects the metrics in memory.
 */
import * as api from "@opentelemetry/api"
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader
} from "@opentelemetry/sdk-metrics"
import { onTestFinished } from "vitest"
import type { Series } from "../../core/test/telemetry/parsePrometheus.ts"

const toSeries = (data: MetricData): ReadonlyArray<Series> =>
  data.dataPointType === DataPointType.HISTOGRAM
    ? data.dataPoints.map(({ attributes, value: { count } }) => ({ attributes, value: count }))
    : data.dataPoints.map(({ attributes, value }) => ({ attributes, value: value as number }))

/** Registers until the test ends, or registers again. Call it before you create a Tollgate. */
export const registerMetrics = () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  // Collects when it is told to.
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 })
  const provider = new MeterProvider({ readers: [reader] })
  api.metrics.disable()
  api.metrics.setGlobalMeterProvider(provider)
  onTestFinished(async () => {
    api.metrics.disable()
    await provider.shutdown()
  })

  const collect = async (): Promise<ReadonlyArray<MetricData>> => {
    await reader.forceFlush()
    return (
      exporter
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap(({ metrics }) => metrics) ?? []
    )
  }
  return {
    collect,
    readSeries: async (name: string) =>
      (await collect()).filter(({ descriptor }) => descriptor.name === name).flatMap(toSeries)
  }
}
