/**
 * Records metrics: in Effect's registry, from which Prometheus reads them, and with the bridge of a module if there is one.
 */
import { Context, Effect, Layer, Metric } from "effect"
import { makeCounter, makeHistogram } from "./accumulators.ts"
import { HostTelemetry } from "./HostTelemetry.ts"
import type { Attributes, Instrument } from "./instruments.ts"
import { toPrometheusName } from "./toPrometheusName.ts"

/** Adds an amount to a counter, or a value to a histogram. */
export type RecordValue = (value: number) => void

/** The most series that one instrument may have. Never reached: attributes have few values. */
const maxSeries = 2_000

const overflow: Attributes = { "otel.metric.overflow": "true" }

const toOptions = ({ description }: Instrument, attributes: Attributes) => ({
  description,
  attributes: Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, String(value)]))
})

const noUpdates = { update: () => undefined, modify: () => undefined }

const registerCounter = (
  instrument: Instrument,
  attributes: Attributes,
  context: Context.Context<never>,
  get: () => Metric.CounterState<number>
) => {
  const counter = Metric.counter(instrument.name, { ...toOptions(instrument, attributes), incremental: true })
  return Metric.registerUnsafe(counter, context, { get, ...noUpdates })
}

/** Registers a metric, and returns the function that records its values. */
const registerRecorded = (
  instrument: Instrument,
  attributes: Attributes,
  context: Context.Context<never>
): RecordValue => {
  if (instrument.kind !== "histogram") {
    const { record, get } = makeCounter()
    registerCounter(instrument, attributes, context, get)
    return record
  }
  const { name, boundaries = [] } = instrument
  const { record, get } = makeHistogram(boundaries)
  const histogram = Metric.histogram(name, { ...toOptions(instrument, attributes), boundaries })
  Metric.registerUnsafe(histogram, context, { get, ...noUpdates })
  return record
}

/** Registers a metric whose value is read when the metrics are collected. */
const registerObserved = (
  instrument: Instrument,
  attributes: Attributes,
  context: Context.Context<never>,
  read: () => number
): Metric.Registration => {
  if (instrument.kind === "counter") {
    return registerCounter(instrument, attributes, context, () => ({ count: read(), incremental: true }))
  }
  const gauge = Metric.gauge(instrument.name, toOptions(instrument, attributes))
  return Metric.registerUnsafe(gauge, context, { get: () => ({ value: read() }), ...noUpdates })
}

/** Records the metrics of Tollgate. The value of the service `Telemetry`. */
export interface TelemetryShape {
  /** Whether a module takes spans or metrics, such as that of OpenTelemetry. */
  readonly isBridged: boolean
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

const disabled: TelemetryShape = {
  isBridged: false,
  series: () => ignore,
  observe: () => ignore as () => void,
  format: async () => ""
}

const make = Effect.gen(function* () {
  const context = yield* Effect.context<never>()
  const bridge = yield* HostTelemetry
  const meter = bridge?.meter
  const recorders = new Map<Instrument, Map<string, RecordValue>>()
  /** Also of modules. Names that are not here stay as they are. */
  const prometheusNames = new Map<string, string>()

  const makeRecord = (instrument: Instrument, attributes: Attributes): RecordValue => {
    const recordLocally = registerRecorded(instrument, attributes, context)
    const recordRemotely = meter?.makeRecord(instrument, attributes)
    if (recordRemotely === undefined) return recordLocally
    return (value) => {
      recordLocally(value)
      recordRemotely(value)
    }
  }

  const series = (instrument: Instrument, attributes: Attributes = {}): RecordValue => {
    const ofInstrument = recorders.get(instrument) ?? new Map<string, RecordValue>()
    recorders.set(instrument, ofInstrument)
    const key = Object.values(attributes).join("\n")
    const existing = ofInstrument.get(key)
    if (existing !== undefined) return existing
    prometheusNames.set(instrument.name, toPrometheusName(instrument))
    if (ofInstrument.size >= maxSeries) return series(instrument, overflow)
    const record = makeRecord(instrument, attributes)
    ofInstrument.set(key, record)
    return record
  }

  const observe = (instrument: Instrument, read: () => number, attributes: Attributes = {}): (() => void) => {
    prometheusNames.set(instrument.name, toPrometheusName(instrument))
    const { remove } = registerObserved(instrument, attributes, context, read)
    const removeRemotely = meter?.observe(instrument, read, attributes)
    return () => {
      remove()
      removeRemotely?.()
    }
  }

  /** Loaded when it is needed: few programs call it. */
  const format = async () => {
    const { formatUnsafe } = await import("effect/observability/PrometheusMetrics")
    return formatUnsafe(context, { metricNameMapper: (name) => prometheusNames.get(name) ?? name })
  }
  return { isBridged: bridge !== undefined, series, observe, format } satisfies TelemetryShape
})

/** The default records nothing. */
export const Telemetry = Context.Reference<TelemetryShape>("@tollgate/core/telemetry/Telemetry", {
  defaultValue: () => disabled
})

/** Records in the metric registry of the context, and with the bridge of a module if the context has one. */
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
