/**
 * A plot over time, with the same numbers in a table behind it. The library that draws it is loaded with the first plot.
 */
import { useEffect, useRef } from "preact/hooks"
import type uPlot from "uplot"
import { formatCount } from "../format/numbers.ts"
import { formatTime } from "../format/time.ts"
import { Table } from "./Table.tsx"

export interface PlotSeries {
  readonly name: string
  readonly values: ReadonlyArray<number>
}

export interface PlotProps {
  /** What the plot shows, such as "Usage of the last 30 days". */
  readonly title: string
  /** The start of each step, as timestamps. */
  readonly times: ReadonlyArray<string>
  readonly series: ReadonlyArray<PlotSeries>
}

const height = 180
const colourCount = 6

const getStyle = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** A colour of the theme that canvas understands. */
const resolveColour = (element: HTMLElement, name: string): string => {
  element.style.color = `var(${name})`
  const { color } = getComputedStyle(element)
  element.style.color = ""
  return color
}

const draw = async (element: HTMLElement, { times, series }: PlotProps): Promise<uPlot> => {
  const [{ default: UPlot }] = await Promise.all([import("uplot"), import("uplot/dist/uPlot.min.css")])
  const axis = {
    stroke: resolveColour(element, "--text-muted"),
    grid: { stroke: resolveColour(element, "--border"), width: 1 },
    ticks: { show: false }
  }
  return new UPlot(
    {
      width: element.clientWidth,
      height,
      legend: { show: series.length > 1 },
      cursor: { drag: { x: false, y: false } },
      scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
      axes: [axis, { ...axis, size: 60, values: (_, values) => values.map((value) => formatCount(value)) }],
      series: [
        {},
        ...series.map(({ name }, index) => {
          const colour = resolveColour(element, `--plot-${(index % colourCount) + 1}`)
          return { label: name, stroke: colour, width: 2, points: { show: times.length < 2 } }
        })
      ],
      font: getStyle("--font")
    } as uPlot.Options,
    [times.map((time) => Date.parse(time) / 1000), ...series.map(({ values }) => [...values])],
    element
  )
}

export const Plot = (props: PlotProps) => {
  const { title, times, series } = props
  const frame = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = frame.current
    if (element === null) return undefined
    const drawing = draw(element, props)
    const observer = new ResizeObserver(
      () => void drawing.then((plot) => plot.setSize({ width: element.clientWidth, height }))
    )
    observer.observe(element)
    return () => {
      observer.disconnect()
      void drawing.then((plot) => plot.destroy())
    }
  }, [JSON.stringify([times, series])])
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      <div ref={frame} class="plot-frame" role="img" aria-label={`${title}: the table below has the numbers`} />
      <details>
        <summary>Show as a table</summary>
        <Table
          caption={title}
          rows={times.map((time, index) => ({ time, index }))}
          getKey={({ time }) => time}
          columns={[
            { title: "From", render: ({ time }) => formatTime(time) },
            ...series.map(({ name, values }) => ({
              title: name,
              align: "right" as const,
              render: ({ index }: { readonly index: number }) => formatCount(values[index] ?? 0)
            }))
          ]}
        />
      </details>
    </figure>
  )
}
