/**
 * Where spans and metrics go beside Effect's own: a module may supply it.
 */
import { Context, type Tracer } from "effect"
import type { Attributes, Instrument } from "./instruments.ts"

/** Takes the metrics. */
export interface MeterBridge {
  /** The function that adds to a counter, or records a value of a histogram. */
  readonly makeRecord: (instrument: Instrument, attributes: Attributes) => (value: number) => void
  /** Reads a value whenever the metrics are collected, until the returned function is called. */
  readonly observe: (instrument: Instrument, read: () => number, attributes: Attributes) => () => void
}

/** Takes spans and metrics, and knows the spans of the host. */
export interface TelemetryBridge {
  /** `undefined` if it takes no metrics. */
  readonly meter: MeterBridge | undefined
  /** `undefined` if it takes no spans. */
  readonly tracer: Tracer.Tracer | undefined
  /** The span of the host that is active now, if there is one. */
  readonly getActiveSpan: () => Tracer.ExternalSpan | undefined
  /**
   * The span of the caller in another process, as the propagators of the host read it from the headers of a request.
   * Without propagators there is no such function.
   */
  readonly getRemoteSpan:
    | ((headers: Readonly<Record<string, string | undefined>>) => Tracer.ExternalSpan | undefined)
    | undefined
}

/** `undefined` if no module supplies one. */
export const HostTelemetry = Context.Reference<TelemetryBridge | undefined>("@tollgate/core/telemetry/HostTelemetry", {
  defaultValue: () => undefined
})
