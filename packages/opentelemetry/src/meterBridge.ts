/**
 * Records Tollgate's metrics with a meter of OpenTelemetry.
 */
import type * as Api from "@opentelemetry/api"
import type { Instrument, MeterBridge } from "@tollgate/core/module"
import { makeObservedSums, type ObservedSums } from "./observedSums.ts"

const create = (meter: Api.Meter, { kind, name, unit, description, boundaries }: Instrument) => {
  if (kind === "counter") {
    const counter = meter.createCounter(name, { unit, description })
    return (value: number, attributes: Api.Attributes) => counter.add(value, attributes)
  }
  const advice = boundaries === undefined ? {} : { advice: { explicitBucketBoundaries: [...boundaries] } }
  const histogram = meter.createHistogram(name, { unit, description, ...advice })
  return (value: number, attributes: Api.Attributes) => histogram.record(value, attributes)
}

/** `http.server.active_requests` is defined as a sum, not as a gauge: values of several processes can be added up. */
const createObservable = (meter: Api.Meter, { kind, name, unit, description }: Instrument): Api.Observable =>
  kind === "counter"
    ? meter.createObservableCounter(name, { unit, description })
    : meter.createObservableUpDownCounter(name, { unit, description })

const startObserving = (meter: Api.Meter, instrument: Instrument): ObservedSums => {
  const sums = makeObservedSums(instrument.kind === "counter")
  createObservable(meter, instrument).addCallback((result) => {
    for (const { value, attributes } of sums.read()) result.observe(value, attributes)
  })
  return sums
}

/** Of all Tollgates in this process: OpenTelemetry keeps one value for each combination of attributes, the last. */
const sumsByMeter = new WeakMap<Api.Meter, Map<Instrument, ObservedSums>>()

export const makeMeterBridge = (meter: Api.Meter): MeterBridge => {
  const recorders = new Map<Instrument, ReturnType<typeof create>>()
  const sumsByInstrument = sumsByMeter.get(meter) ?? new Map<Instrument, ObservedSums>()
  sumsByMeter.set(meter, sumsByInstrument)
  return {
    makeRecord: (instrument, attributes) => {
      const record = recorders.get(instrument) ?? create(meter, instrument)
      recorders.set(instrument, record)
      return (value) => record(value, attributes)
    },
    observe: (instrument, read, attributes) => {
      const sums = sumsByInstrument.get(instrument) ?? startObserving(meter, instrument)
      sumsByInstrument.set(instrument, sums)
      return sums.add(read, attributes)
    }
  }
}
