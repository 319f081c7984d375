/**
 * Generates docs/design/measurements.md from the results of the last full run of the benchmarks.
 */
import { readFileSync } from "node:fs"
import { listLimits } from "../../../bench/src/compareResults.ts"
import type { Row } from "../../../bench/src/report.ts"
import type { Results } from "../../../bench/src/results.ts"
import { formatTable } from "./markdown.ts"

const resultsFile = new URL("../../../bench/results/latest.json", import.meta.url)

/** Three significant digits; whole numbers with separators from 100 on. */
const formatNumber = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(3)))

const formatName = (name: string): string => name.replaceAll(/\d{4,}/g, (digits) => formatNumber(Number(digits)))

const formatGoal = (value: string, isReached: boolean): string => `${value} ${isReached ? "✓" : "✗"}`

const formatRow = ({ name, comparedWith, ours, baseline, ratio, target }: Row): ReadonlyArray<string> => [
  formatName(name),
  formatName(comparedWith),
  formatNumber(ours),
  formatNumber(baseline),
  ratio.median.toFixed(2),
  `${ratio.low.toFixed(2)} to ${ratio.high.toFixed(2)}`,
  target === undefined ? "–" : formatGoal(String(target), ratio.median >= target)
]

const formatRatios = (rows: ReadonlyArray<Row>): string =>
  formatTable(
    ["Work", "Against", "Tollgate, per second", "Other, per second", "Ratio", "From … to", "Goal"],
    [...rows.map(formatRow)]
  )

/** What has no ratio: the median, the range where it was kept, and the limit. */
const formatTimes = (results: Results): string => {
  const { listing = [], upload, starts = [], firstViews = [] } = results
  const limits = new Map(listLimits(results).map((check) => [check.name, check]))
  const formatLimit = (name: string): string => {
    const check = limits.get(name)
    return check === undefined ? "–" : formatGoal(`${check.limit} ${check.unit}`, check.value <= check.limit)
  }
  const formatRange = (low: number, high: number): string => `${formatNumber(low)} to ${formatNumber(high)} ms`
  const rows: ReadonlyArray<readonly [name: string, label: string, median: string, range: string]> = [
    ...listing.map(({ adapter, page, milliseconds, spread }) => {
      const name = `list, ${adapter}, ${page} page`
      return [name, `${name} of 100 out of 50,000`, `${formatNumber(milliseconds)} ms`, `${spread} ms`] as const
    }),
    ...starts.map(({ name, milliseconds: { median, low, high }, cpuMilliseconds, mebibytes }) => {
      const cost = `${formatNumber(cpuMilliseconds.median)} ms of processor time, ${formatNumber(mebibytes)} MiB`
      const label = `start: ${formatName(name)} (${cost})`
      return [name, label, `${formatNumber(median)} ms`, formatRange(low, high)] as const
    }),
    ...firstViews.map(({ view, milliseconds: { median, low, high } }) => {
      const label = `console: ${view}`
      return [label, label, `${formatNumber(median)} ms`, formatRange(low, high)] as const
    }),
    ...(upload === undefined
      ? []
      : [
          [
            "upload, growth",
            `upload of ${upload.uploaded}: growth of the server process`,
            `${formatNumber(upload.growth)} MiB`,
            "–"
          ] as const
        ])
  ]
  return formatTable(
    ["What", "Median", "From … to", "Limit"],
    rows.map(([name, label, median, range]) => [label, median, range, formatLimit(name)])
  )
}

const formatSizes = (rows: ReadonlyArray<Row>): ReadonlyArray<string> => {
  const measured = rows.flatMap(({ name, bytesPerKey }) => (bytesPerKey === undefined ? [] : [{ name, bytesPerKey }]))
  if (measured.length === 0) return []
  return [
    `## Bytes per key

A consumer with one key, two tags and two fields of metadata, without its events: the growth of the SQLite file, of Redis's \`used_memory\`, of
the PostgreSQL tables with their indexes, and of the heap.`,
    formatTable(
      ["Store", "Bytes per key"],
      measured.map(({ name, bytesPerKey }) => [formatName(name.replace("verify, ", "")), formatNumber(bytesPerKey)])
    )
  ]
}

export const generateMeasurements = (): string => {
  const results: Results = JSON.parse(readFileSync(resultsFile, "utf8"))
  const { day, machine, keys, effort, rows } = results
  return [
    `# Measurements

The last results of \`npm run bench\`. [Performance](performance.md) explains them.

${machine}, ${day}: ${formatNumber(keys)} keys where nothing else is said, ${effort.rounds} rounds of ${effort.milliseconds} ms. Each work runs in turns with a simpler way to do the same, in one
process of its own, so that a busy machine slows both. The ratio is the median of all rounds, and none is discarded.

## Ratios

"Hand-written" is the least code that does the same; "the same" is Tollgate under another load. Rows without a goal are for information.`,
    formatRatios(rows),
    "## Times and memory",
    formatTimes(results),
    ...formatSizes(rows)
  ].join("\n\n")
}
