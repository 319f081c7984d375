import { useEffect, useRef } from "preact/hooks"
import { formatCount } from "../format/numbers.ts"
import { formatStep, type PlotStep } from "../format/steps.ts"
import { fill, words } from "../words.ts"
import { drawPlot, type PlotSeries } from "./drawPlot.ts"
import { Table } from "./Table.tsx"

export interface PlotProps {
  /** What the plot shows, such as "Usage of the last 30 days". */
  readonly title: string
  /** The start of each step, as timestamps. */
  readonly times: ReadonlyArray<string>
  readonly series: ReadonlyArray<PlotSeries>
  /** How long a step is; a day by default. */
  readonly step?: PlotStep | undefined
  /** Shown if there are no numbers. */
  readonly emptyText?: string | undefined
  /** Whether the table is open, for a page that remembers it while it loads other numbers. */
  readonly isTableOpen?: boolean | undefined
  readonly onTableToggle?: ((isOpen: boolean) => void) | undefined
}

/** A plot over time, with the same numbers in a table behind it. */
export const Plot = ({
  title,
  times,
  series,
  step = "day",
  emptyText = words.noUsage,
  isTableOpen,
  onTableToggle
}: PlotProps) => {
  const frame = useRef<HTMLDivElement>(null)
  const isEmpty = times.length === 0 || series.length === 0
  // As text, because the arrays are new at each render.
  useEffect(
    () => (frame.current === null ? undefined : drawPlot(frame.current, { times, series, step })),
    [JSON.stringify([times, series, step])]
  )
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      {isEmpty ? (
        <p class="hint">{emptyText}</p>
      ) : (
        <>
          <div ref={frame} class="plot-frame" role="img" aria-label={fill(words.plotLabel, { title })} />
          <details open={isTableOpen} onToggle={(event) => onTableToggle?.(event.currentTarget.open)}>
            <summary>{words.plotTable}</summary>
            <Table
              caption={fill(words.plotTableCaption, { title })}
              rows={times.map((time, index) => ({ time, index }))}
              getKey={({ time }) => time}
              columns={[
                { title: words.plotFrom, render: ({ time }) => formatStep(time, step) },
                ...series.map(({ name, values }) => ({
                  title: name,
                  align: "right" as const,
                  render: ({ index }: { readonly index: number }) => formatCount(values[index] ?? 0)
                }))
              ]}
            />
          </details>
        </>
      )}
    </figure>
  )
}
