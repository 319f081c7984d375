/**
 * Formats the results as a table for the terminal and as an SVG chart for the documentation.
 */
import type { Comparison, Spread } from "./measure.ts"

/** One comparison and its target ratio, if it has one. */
export interface Row extends Comparison {
  readonly name: string
  readonly comparedWith: string
  readonly target?: number
  /** What a consumer with one key takes in the store, if the row measures it. */
  readonly bytesPerKey?: number
}

const round = (value: number): number => (value >= 100 ? Math.round(value) : Number(value.toPrecision(3)))
const formatRange = ({ low, high }: Spread): string => `${low.toFixed(2)} to ${high.toFixed(2)}`

const meetsTarget = ({ target, ratio }: Row): boolean => target === undefined || ratio.median >= target

export const toTable = (rows: ReadonlyArray<Row>): ReadonlyArray<Record<string, unknown>> =>
  rows.map((row) => ({
    benchmark: row.name,
    baseline: row.comparedWith,
    "Tollgate/s": round(row.ours),
    "baseline/s": round(row.baseline),
    ratio: Number(row.ratio.median.toFixed(2)),
    range: formatRange(row.ratio),
    target: row.target ?? "–",
    met: row.target === undefined ? "–" : meetsTarget(row) ? "yes" : "NO"
  }))

const [width, labelWidth, rowHeight, top] = [980, 590, 26, 44]

const escapeXml = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")

/** Maps a ratio to an x coordinate on a logarithmic scale, so that 0.5 and 2 are equally far from 1. */
const toX = (ratio: number): number => {
  const [from, to] = [Math.log2(0.125), Math.log2(16)]
  const share = (Math.log2(Math.min(16, Math.max(0.125, ratio))) - from) / (to - from)
  return labelWidth + share * (width - labelWidth - 60)
}

const renderBar = (row: Row, index: number): string => {
  const y = top + index * rowHeight
  const { median, low, high } = row.ratio
  const colour = row.target === undefined ? "#64748b" : meetsTarget(row) ? "#0f766e" : "#b45309"
  const targetLine =
    row.target === undefined
      ? ""
      : `<line x1="${toX(row.target)}" x2="${toX(row.target)}" y1="${y + 2}" y2="${y + 20}" stroke="#111827" stroke-width="2"/>`
  return `<text x="8" y="${y + 15}">${escapeXml(`${row.name} ÷ ${row.comparedWith}`)}</text>
<rect x="${labelWidth}" y="${y + 4}" width="${Math.max(1, toX(median) - labelWidth)}" height="14" fill="${colour}"/>
<line x1="${toX(low)}" x2="${toX(high)}" y1="${y + 11}" y2="${y + 11}" stroke="#9ca3af" stroke-width="2"/>
${targetLine}<text x="${toX(Math.max(median, high)) + 6}" y="${y + 15}">${median.toFixed(2)}</text>`
}

/** Renders one bar per row: green if it meets its target, amber if not. The vertical line marks the target. */
export const toSvg = (rows: ReadonlyArray<Row>, caption: string): string => {
  const height = top + rows.length * rowHeight + 12
  const one = toX(1)
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="11" fill="#111827">
<title>${escapeXml(caption)}</title>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="8" y="18" font-size="13" font-weight="600">${escapeXml(caption)}</text>
<text x="${one - 3}" y="36" fill="#6b7280">1</text>
<line x1="${one}" x2="${one}" y1="40" y2="${height - 8}" stroke="#d1d5db" stroke-dasharray="3 3"/>
${rows.map(renderBar).join("\n")}
</svg>
`
}
