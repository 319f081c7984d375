/**
 * Records metrics: in Effect's registry, from which Prometheus reads them, and with OpenTelemetry if the host uses it.
 */
import { Context, Effect, Layer, Metric } from "effect"
import type { Instrument } from "./instruments.ts"
import { OpenTelemetry } from "./OpenTelemetry.ts"
import { toPrometheusName } from "./toPrometheusName.ts"

export type Attributes = Readonly<Record<string, string | number>>

/** Adds an amount to a counter, or a value to a histogram. */
export type RecordValue = (value: number) => void

/** The most series that one instrument may have. Never reached: attributes have few values. */
const maxSeries = 2_000

const overflow: Attributes = { "otel.metric.overflow": "true" }

const toOptions = ({ description }: Instrument, attributes: Attributes) => ({
  description,
  attributes: Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, String(value)]))
})

const makeMetric = (instrument: Instrument, attributes: Attributes): Metric.Metric<number, unknown> => {
  const options = toOptions(instrument, attributes)
  return instrument.kind === "histogram"
    ? Metric.histogram(instrument.name, { ...options, boundaries: instrument.boundaries ?? [] })
    : Metric.counter(instrument.name, { ...options, incremental: true })
}

/** Registers a metric whose value is read when the metrics are collected. */
const registerObserved = (
  instrument: Instrument,
  attributes: Attributes,
  read: () => number,
  context: Context.Context<never>
): Metric.Registration => {
  const options = toOptions(instrument, attributes)
  const noUpdates = { update: () => undefined, modify: () => undefined }
  return instrument.kind === "counter"
    ? Metric.registerUnsafe(Metric.counter(instrument.name, { ...options, incremental: true }), context, {
        get: () => ({ count: read(), incremental: true }),
        ...noUpdates
      })
    : Metric.registerUnsafe(Metric.gauge(instrument.name, options), context, {
        get: () => ({ value: read() }),
        ...noUpdates
      })
}

export interface TelemetryShape {
  /**
   * The function that records values of a series. Call it once for each combination of attributes and keep the result,
   * where speed matters.
   */
  readonly series: (instrument: Instrument, attributes?: Attributes) => RecordValue
  /** Reads a value whenever the metrics are collected, until the returned function is called. */
  readonly observe: (instrument: Instrument, read: () => number, attributes?: Attributes) => () => void
  /** All metrics in the text format of Prometheus. */
  readonly format: () => Promise<string>
}

const ignore: RecordValue = () => undefined

const disabled: TelemetryShape = { series: () => ignore, observe: () => ignore as () => void, format: async () => "" }

const make = Effect.gen(function* () {
  const context = yield* Effect.context<never>()
  const meter = (yield* OpenTelemetry)?.meter
  const recorders = new Map<Instrument, Map<string, RecordValue>>()

  const makeRecord = (instrument: Instrument, attributes: Attributes): RecordValue => {
    const metric = makeMetric(instrument, attributes)
    const recordRemotely = meter?.makeRecord(instrument, attributes)
    return recordRemotely === undefined
      ? (value) => metric.updateUnsafe(value, context)
      : (value) => {
          metric.updateUnsafe(value, context)
          recordRemotely(value)
        }
  }

  const series = (instrument: Instrument, attributes: Attributes = {}): RecordValue => {
    const ofInstrument = recorders.get(instrument) ?? new Map<string, RecordValue>()
    recorders.set(instrument, ofInstrument)
    const key = Object.values(attributes).join("\n")
    const existing = ofInstrument.get(key)
    if (existing !== undefined) return existing
    if (ofInstrument.size >= maxSeries) return series(instrument, overflow)
    const record = makeRecord(instrument, attributes)
    ofInstrument.set(key, record)
    return record
  }

  const observe = (instrument: Instrument, read: () => number, attributes: Attributes = {}): (() => void) => {
    const { remove } = registerObserved(instrument, attributes, read, context)
    const removeRemotely = meter?.observe(instrument, read, attributes)
    return () => {
      remove()
      removeRemotely?.()
    }
  }

  /** Loaded when it is needed: few programs call it. */
  const format = async () => {
    const { formatUnsafe } = await import("effect/observability/PrometheusMetrics")
    return formatUnsafe(context, { metricNameMapper: toPrometheusName })
  }
  return { series, observe, format } satisfies TelemetryShape
})

/** The default records nothing. */
export const Telemetry = Context.Reference<TelemetryShape>("@tollgate/core/telemetry/Telemetry", {
  defaultValue: () => disabled
})

/** Records in the metric registry of the context, and with OpenTelemetry if the context has it. */
export const telemetryLayer: Layer.Layer<never> = Layer.effect(Telemetry, make)

/** Observes a value until the scope ends. */
export const observeScoped = Effect.fnUntraced(function* (
  instrument: Instrument,
  read: () => number,
  attributes?: Attributes
) {
  const { observe } = yield* Telemetry
  yield* Effect.acquireRelease(
    Effect.sync(() => observe(instrument, read, attributes)),
    (remove) => Effect.sync(remove)
  )
})
