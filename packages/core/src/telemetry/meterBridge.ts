/**
 * Records Tollgate's metrics with a meter of OpenTelemetry.
 */
import type * as Api from "@opentelemetry/api"
import type { Instrument } from "./instruments.ts"
import type { MeterBridge } from "./OpenTelemetry.ts"

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

export const makeMeterBridge = (meter: Api.Meter): MeterBridge => {
  const recorders = new Map<Instrument, ReturnType<typeof create>>()
  return {
    makeRecord: (instrument, attributes) => {
      const record = recorders.get(instrument) ?? create(meter, instrument)
      recorders.set(instrument, record)
      return (value) => record(value, attributes)
    },
    observe: (instrument, read, attributes) => {
      const observable = createObservable(meter, instrument)
      const callback: Api.ObservableCallback = (result) => result.observe(read(), attributes)
      observable.addCallback(callback)
      return () => observable.removeCallback(callback)
    }
  }
}
