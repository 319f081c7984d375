/**
 * Draws each series with a scale of its own, because meters count different things; those of a group share a plot. The
 * library is loaded with the first plot.
 */
import type uPlot from "uplot"
import { formatCount } from "../format/numbers.ts"
import { formatStep, type PlotStep } from "../format/steps.ts"
import { makeOnce, words } from "../words.ts"

export interface PlotSeries {
  readonly name: string
  readonly values: ReadonlyArray<number>
  /** Series with the same group are lines of one plot, which has this name. */
  readonly group?: string | undefined
}

export interface PlotData {
  /** The start of each step, as timestamps. */
  readonly times: ReadonlyArray<string>
  readonly series: ReadonlyArray<PlotSeries>
  readonly step: PlotStep
}

const plotHeight = 180
const colourCount = 6

const compactCounts = makeOnce(() => new Intl.NumberFormat(words.language, { notation: "compact" }))

/** A colour of the theme that canvas understands. */
const resolveColour = (element: HTMLElement, name: string): string => {
  element.style.color = `var(${name})`
  const { color } = getComputedStyle(element)
  element.style.color = ""
  return color
}

const daySeconds = 86_400
const axisDates = makeOnce(
  () => new Intl.DateTimeFormat(words.language, { month: "short", day: "numeric", timeZone: "UTC" })
)
const axisTimes = makeOnce(
  () =>
    new Intl.DateTimeFormat(words.language, {
      hour: "2-digit",
      minute: "2-digit",
      hour12: false,
      timeZone: "UTC"
    })
)

const formatAxisTime = (seconds: number): string =>
  (seconds % daySeconds === 0 ? axisDates : axisTimes)().format(new Date(seconds * 1000))

interface LineData {
  readonly times: ReadonlyArray<string>
  readonly title: string
  readonly lines: ReadonlyArray<PlotSeries & { readonly colour: number }>
  readonly step: PlotStep
}

/** Shows the value of the step at the pointer, beside the pointer. */
const showValue = ({ lines, step }: LineData): uPlot.Plugin => {
  const label = document.createElement("div")
  label.className = "plot-value"
  return {
    hooks: {
      init: (plot) => plot.over.append(label),
      setCursor: ({ cursor: { idx, left = -1, top = 0 }, data, over }) => {
        const seconds = idx === null || idx === undefined ? undefined : data[0][idx]
        label.hidden = seconds === undefined || left < 0
        if (seconds === undefined) return
        const values = lines.map(({ name, values }) => {
          const value = formatCount(values[idx ?? 0] ?? 0)
          return lines.length === 1 ? value : `${name} ${value}`
        })
        label.textContent = `${formatStep(new Date(seconds * 1000).toISOString(), step)}: ${values.join("\n")}`
        // On the side of the pointer that has more room.
        const isLeft = left > over.clientWidth / 2
        label.style.left = isLeft ? "" : `${left + 8}px`
        label.style.right = isLeft ? `${over.clientWidth - left + 8}px` : ""
        label.style.top = `${Math.max(0, top - 28)}px`
      }
    }
  }
}

const toOptions = (element: HTMLElement, line: LineData, UPlot: typeof uPlot): uPlot.Options => {
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
      { ...axis, size: 52, values: (_, values) => values.map((value) => compactCounts().format(value)) }
    ],
    title: line.title,
    legend: { show: false },
    plugins: [showValue(line)],
    series: [
      {},
      ...line.lines.map(({ colour }) => ({
        stroke: resolveColour(element, `--plot-${(colour % colourCount) + 1}`),
        width: 2,
        points: { show: line.times.length < 3 }
      }))
    ]
  }
}

const isVisible = (element: HTMLElement): boolean => element.clientWidth > 0

/** Draws until the returned function is called: again when the colours change, and in the width of the element. */
const drawLine = (element: HTMLElement, line: LineData): (() => void) => {
  let plot: uPlot | undefined
  let UPlot: typeof uPlot | undefined
  const data: uPlot.AlignedData = [
    line.times.map((time) => Date.parse(time) / 1000),
    ...line.lines.map(({ values }) => [...values])
  ]
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
      element.textContent = words.plotFailed
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

/** Names the lines of a plot that has several, each beside its colour. */
const makeLegend = ({ lines }: LineData): HTMLElement => {
  const legend = document.createElement("div")
  legend.className = "plot-legend"
  for (const { name, colour } of lines) {
    const item = document.createElement("span")
    item.textContent = name
    item.style.setProperty("--line", `var(--plot-${(colour % colourCount) + 1})`)
    legend.append(item)
  }
  return legend
}

/** Draws all series below or beside each other, until the returned function is called. */
export const drawPlot = (element: HTMLElement, { times, series, step }: PlotData): (() => void) => {
  const groups = Map.groupBy(
    series.map((one, colour) => ({ ...one, colour })),
    ({ name, group = name }) => group
  )
  const stops = [...groups].map(([title, lines]) => {
    const data = { times, title, lines, step }
    const frame = document.createElement("div")
    element.append(frame)
    const stop = drawLine(frame, data)
    if (lines.length > 1) frame.append(makeLegend(data))
    return () => {
      stop()
      frame.remove()
    }
  })
  return () => {
    for (const stop of stops) stop()
  }
}
