/**
 * Reads the text format of Prometheus with a parser that others wrote.
 */
// @ts-expect-error: the package has no types
import parse from "parse-prometheus-text-format"
import { allInstruments } from "../allModules.ts"

export interface Series {
  readonly attributes: Readonly<Record<string, unknown>>
  /** The value of a sum, or the number of values in a histogram. */
  readonly value: number
}

interface Sample {
  readonly labels?: Readonly<Record<string, string>>
  readonly value: string
}

export interface Family {
  readonly name: string
  readonly help: string
  readonly type: "COUNTER" | "GAUGE" | "HISTOGRAM" | "UNTYPED"
  readonly metrics: ReadonlyArray<Sample>
}

export const parseFamilies = (text: string): ReadonlyArray<Family> => parse(text)

/** The names of labels in Prometheus, and what they are called in OpenTelemetry. */
const attributeNames = new Map(
  allInstruments.flatMap(({ attributes }) => attributes.map((name) => [name.replaceAll(".", "_"), name]))
)

/**
 * The series with this name, such as `x_total`, or `x_count` of a histogram. The parser mixes up the series of a histogram,
 * so it is not told which metrics are histograms.
 */
export const parseSeries = (text: string, name: string): ReadonlyArray<Series> =>
  parseFamilies(text.replace(/^# TYPE \S+ histogram\n/gm, ""))
    .filter((family) => family.name === name)
    .flatMap(({ metrics }) =>
      metrics.map(({ labels = {}, value }) => ({
        attributes: Object.fromEntries(
          Object.entries(labels).map(([label, text]) => [attributeNames.get(label) ?? label, text])
        ),
        value: Number(value)
      }))
    )
