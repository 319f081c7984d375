/**
 * Draws each series with a scale of its own, because meters count different things. The library is loaded with the first
 * plot.
 */
import type uPlot from "uplot"
import { formatCount } from "../format/numbers.ts"
import { formatStep, type UsageStep } from "../format/steps.ts"

export interface PlotSeries {
  readonly name: string
  readonly values: ReadonlyArray<number>
}

export interface PlotData {
  /** The start of each step, as timestamps. */
  readonly times: ReadonlyArray<string>
  readonly series: ReadonlyArray<PlotSeries>
  readonly step: UsageStep
}

const plotHeight = 180
const colourCount = 6

const compactCounts = new Intl.NumberFormat("en", { notation: "compact" })

/** A colour of the theme that canvas understands. */
const resolveColour = (element: HTMLElement, name: string): string => {
  element.style.color = `var(${name})`
  const { color } = getComputedStyle(element)
  element.style.color = ""
  return color
}

const daySeconds = 86_400
const axisDates = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" })
const axisTimes = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hour12: false, timeZone: "UTC" })

const formatAxisTime = (seconds: number): string =>
  (seconds % daySeconds === 0 ? axisDates : axisTimes).format(new Date(seconds * 1000))

interface LineData {
  readonly times: ReadonlyArray<string>
  readonly series: PlotSeries
  readonly colour: number
  readonly step: UsageStep
}

const toOptions = (
  element: HTMLElement,
  { times, series, colour, step }: LineData,
  UPlot: typeof uPlot
): uPlot.Options => {
  const axis = {
    stroke: resolveColour(element, "--text-muted"),
    grid: { stroke: resolveColour(element, "--border"), width: 1 },
    ticks: { show: false }
  }
  return {
    width: element.clientWidth,
    height: plotHeight,
    cursor: { drag: { x: false, y: false } },
    tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
    axes: [
      { ...axis, values: (_, values) => values.map(formatAxisTime) },
      { ...axis, size: 52, values: (_, values) => values.map((value) => compactCounts.format(value)) }
    ],
    series: [
      {
        label: "From (UTC)",
        value: (_, seconds) => (seconds === null ? "–" : formatStep(new Date(seconds * 1000).toISOString(), step))
      },
      {
        label: series.name,
        stroke: resolveColour(element, `--plot-${(colour % colourCount) + 1}`),
        width: 2,
        points: { show: times.length < 3 },
        value: (_, value) => (value === null ? "–" : formatCount(value))
      }
    ]
  }
}

const isVisible = (element: HTMLElement): boolean => element.clientWidth > 0

/** Draws until the returned function is called: again when the colours change, and in the width of the element. */
const drawLine = (element: HTMLElement, line: LineData): (() => void) => {
  let plot: uPlot | undefined
  let UPlot: typeof uPlot | undefined
  const data: uPlot.AlignedData = [line.times.map((time) => Date.parse(time) / 1000), [...line.series.values]]
  const draw = (): void => {
    if (UPlot === undefined || !isVisible(element)) return
    plot?.destroy()
    plot = new UPlot(toOptions(element, line, UPlot), data, element)
  }
  const resize = (): void => {
    if (plot === undefined) draw()
    else if (isVisible(element) && plot.width !== element.clientWidth)
      plot.setSize({ width: element.clientWidth, height: plotHeight })
  }
  const sizes = new ResizeObserver(resize)
  const themes = new MutationObserver(draw)
  const systemTheme = matchMedia("(prefers-color-scheme: dark)")
  let isStopped = false
  const start = (module: { readonly default: typeof uPlot }): void => {
    if (isStopped) return
    UPlot = module.default
    draw()
    sizes.observe(element)
    themes.observe(document.documentElement, { attributeFilter: ["data-theme"] })
    systemTheme.addEventListener("change", draw)
  }
  Promise.all([import("uplot"), import("uplot/dist/uPlot.min.css")]).then(
    ([module]) => start(module),
    () => {
      element.textContent = "The plot cannot be loaded: reload this page. The table has the numbers."
    }
  )
  return () => {
    isStopped = true
    sizes.disconnect()
    themes.disconnect()
    systemTheme.removeEventListener("change", draw)
    plot?.destroy()
  }
}

/** Draws all series below or beside each other, until the returned function is called. */
export const drawPlot = (element: HTMLElement, { times, series, step }: PlotData): (() => void) => {
  const stops = series.map((one, colour) => {
    const frame = document.createElement("div")
    element.append(frame)
    const stop = drawLine(frame, { times, series: one, colour, step })
    return () => {
      stop()
      frame.remove()
    }
  })
  return () => {
    for (const stop of stops) stop()
  }
}
