/**
 * What was measured, as a table for the terminal, as JSON, and as a picture for the README.
 */
import type { Comparison, Spread } from "./measure.ts"

/** One comparison, and what it must reach, if anything. */
export interface Row extends Comparison {
  readonly work: string
  readonly against: string
  readonly bar?: number
}

const round = (value: number): number => (value >= 100 ? Math.round(value) : Number(value.toPrecision(3)))
const range = ({ low, high }: Spread): string => `${low.toFixed(2)} to ${high.toFixed(2)}`

export const reaches = ({ bar, ratio }: Row): boolean => bar === undefined || ratio.median >= bar

export const toTable = (rows: ReadonlyArray<Row>): ReadonlyArray<Record<string, unknown>> =>
  rows.map((row) => ({
    work: row.work,
    against: row.against,
    "ours a second": round(row.ours),
    "theirs a second": round(row.floor),
    ratio: Number(row.ratio.median.toFixed(2)),
    "from … to": range(row.ratio),
    bar: row.bar ?? "–",
    reached: row.bar === undefined ? "–" : reaches(row) ? "yes" : "NO"
  }))

const [width, labelWidth, rowHeight, top] = [980, 590, 26, 44]

const escapeXml = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")

/** Bars on a logarithmic scale, so that half and twice are as far from 1. */
const scale = (ratio: number): number => {
  const [from, to] = [Math.log2(0.125), Math.log2(16)]
  const share = (Math.log2(Math.min(16, Math.max(0.125, ratio))) - from) / (to - from)
  return labelWidth + share * (width - labelWidth - 60)
}

const bar = (row: Row, index: number): string => {
  const y = top + index * rowHeight
  const { median, low, high } = row.ratio
  const colour = row.bar === undefined ? "#64748b" : reaches(row) ? "#0f766e" : "#b45309"
  const mark =
    row.bar === undefined
      ? ""
      : `<line x1="${scale(row.bar)}" x2="${scale(row.bar)}" y1="${y + 2}" y2="${y + 20}" stroke="#111827" stroke-width="2"/>`
  return `<text x="8" y="${y + 15}">${escapeXml(`${row.work} ÷ ${row.against}`)}</text>
<rect x="${labelWidth}" y="${y + 4}" width="${Math.max(1, scale(median) - labelWidth)}" height="14" fill="${colour}"/>
<line x1="${scale(low)}" x2="${scale(high)}" y1="${y + 11}" y2="${y + 11}" stroke="#9ca3af" stroke-width="2"/>
${mark}<text x="${scale(Math.max(median, high)) + 6}" y="${y + 15}">${median.toFixed(2)}</text>`
}

/** A bar for each row: green where it is reached, amber where it is not; the upright line is what must be reached. */
export const toSvg = (rows: ReadonlyArray<Row>, caption: string): string => {
  const height = top + rows.length * rowHeight + 12
  const one = scale(1)
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="11" fill="#111827">
<title>${escapeXml(caption)}</title>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="8" y="18" font-size="13" font-weight="600">${escapeXml(caption)}</text>
<text x="${one - 3}" y="36" fill="#6b7280">1</text>
<line x1="${one}" x2="${one}" y1="40" y2="${height - 8}" stroke="#d1d5db" stroke-dasharray="3 3"/>
${rows.map(bar).join("\n")}
</svg>
`
}
