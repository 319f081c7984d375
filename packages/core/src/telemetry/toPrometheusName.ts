/**
 * The name of a metric in Prometheus: with its unit, as the Prometheus exporter of OpenTelemetry writes it.
 */
import type { Instrument } from "./instruments.ts"

const getSuffix = ({ kind, unit }: Instrument): string => {
  if (kind === "counter") return ".total"
  return unit === "s" ? ".seconds" : ""
}

/** Dots become underscores later. */
export const toPrometheusName = (instrument: Instrument): string => `${instrument.name}${getSuffix(instrument)}`
