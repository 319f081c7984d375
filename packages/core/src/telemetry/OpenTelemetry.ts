/**
 * What Tollgate uses of OpenTelemetry. Without types of `@opentelemetry/api`, which few programs have installed.
 */
import { Context, type Tracer } from "effect"
import type { Instrument } from "./instruments.ts"

export type AttributeValue = string | number | boolean

export interface MeterBridge {
  /** The function that adds to a counter, or records a value of a histogram. */
  readonly makeRecord: (
    instrument: Instrument,
    attributes: Readonly<Record<string, AttributeValue>>
  ) => (value: number) => void
  /** Reads a value whenever the metrics are collected, until the returned function is called. */
  readonly observe: (
    instrument: Instrument,
    read: () => number,
    attributes: Readonly<Record<string, AttributeValue>>
  ) => () => void
}

export interface OpenTelemetryBridge {
  /** `undefined` if no meter provider is registered. */
  readonly meter: MeterBridge | undefined
  /** `undefined` if no tracer provider is registered. */
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

/** `undefined` if the host does not use OpenTelemetry. */
export const OpenTelemetry = Context.Reference<OpenTelemetryBridge | undefined>(
  "@tollgate/core/telemetry/OpenTelemetry",
  { defaultValue: () => undefined }
)
