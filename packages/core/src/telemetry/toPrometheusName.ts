/**
 * The name of a metric in Prometheus: with its unit, as the Prometheus exporter of OpenTelemetry writes it.
 */
import { type Instrument, instruments } from "./instruments.ts"

const getSuffix = ({ kind, unit }: Instrument): string => {
  if (kind === "counter") return ".total"
  return unit === "s" ? ".seconds" : ""
}

const names: ReadonlyMap<string, string> = new Map(
  Object.values(instruments).map((instrument) => [instrument.name, `${instrument.name}${getSuffix(instrument)}`])
)

/** Dots become underscores later. Names that are not Tollgate's stay as they are. */
export const toPrometheusName = (name: string): string => names.get(name) ?? name
