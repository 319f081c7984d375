import type { UsageSeriesJson } from "@tollgate/core/client"
import { Plot, type PlotProps } from "./Plot.tsx"

/** A series of usage as plots, one for each meter. */
export const UsagePlot = ({
  usage,
  ...props
}: Omit<PlotProps, "times" | "series" | "step"> & { readonly usage: UsageSeriesJson }) => (
  <Plot
    {...props}
    step={usage.step}
    times={usage.data.map(({ start }) => start)}
    series={Object.keys(usage.data[0]?.meters ?? {})
      .sort()
      .map((name) => ({ name, values: usage.data.map(({ meters }) => meters[name] ?? 0) }))}
  />
)
