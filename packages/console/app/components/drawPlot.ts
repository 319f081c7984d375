/**
 * Draws the lines of a plot. The library is loaded with the first plot.
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
/** Tells lines of the same colour apart. */
const dashes = [[], [6, 4], [2, 3]]

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

const toOptions = (element: HTMLElement, { times, series, step }: PlotData, UPlot: typeof uPlot): uPlot.Options => {
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
      ...series.map(({ name }, index) => ({
        label: name,
        stroke: resolveColour(element, `--plot-${(index % colourCount) + 1}`),
        dash: dashes[Math.floor(index / colourCount) % dashes.length] ?? [],
        width: 2,
        points: { show: times.length < 3 },
        value: (_: uPlot, value: number | null) => (value === null ? "–" : formatCount(value))
      }))
    ]
  }
}

const isVisible = (element: HTMLElement): boolean => element.clientWidth > 0

/** Draws until the returned function is called: again when the colours change, and in the width of the element. */
export const drawPlot = (element: HTMLElement, plotData: PlotData): (() => void) => {
  const { times, series } = plotData
  let plot: uPlot | undefined
  let UPlot: typeof uPlot | undefined
  const data: uPlot.AlignedData = [
    times.map((time) => Date.parse(time) / 1000),
    ...series.map(({ values }) => [...values])
  ]
  const draw = (): void => {
    if (UPlot === undefined || !isVisible(element)) return
    plot?.destroy()
    plot = new UPlot(toOptions(element, plotData, UPlot), data, element)
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
  void Promise.all([import("uplot"), import("uplot/dist/uPlot.min.css")]).then(([module]) => {
    if (isStopped) return
    UPlot = module.default
    draw()
    sizes.observe(element)
    themes.observe(document.documentElement, { attributeFilter: ["data-theme"] })
    systemTheme.addEventListener("change", draw)
  })
  return () => {
    isStopped = true
    sizes.disconnect()
    themes.disconnect()
    systemTheme.removeEventListener("change", draw)
    plot?.destroy()
  }
}
