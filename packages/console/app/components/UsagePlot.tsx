import type { UsageSeriesJson } from "../api/types.ts"
import { Plot } from "./Plot.tsx"

/** A series of usage as a plot, with a line for each meter. */
export const UsagePlot = ({
  title,
  usage,
  emptyText
}: {
  readonly title: string
  readonly usage: UsageSeriesJson
  readonly emptyText?: string | undefined
}) => (
  <Plot
    title={title}
    step={usage.step}
    times={usage.data.map(({ start }) => start)}
    series={Object.keys(usage.data[0]?.meters ?? {})
      .sort()
      .map((name) => ({ name, values: usage.data.map(({ meters }) => meters[name] ?? 0) }))}
    emptyText={emptyText}
  />
)
