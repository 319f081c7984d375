import { makeOnce, words } from "../words.ts"

/** The steps of usage are hours, days and months of the calendar in UTC, or periods; so are the times that name them. */
export type UsageStep = "hour" | "day" | "period"
export type PlotStep = UsageStep | "month"

const months = makeOnce(
  () => new Intl.DateTimeFormat(words.language, { month: "short", year: "numeric", timeZone: "UTC" })
)
const dates = makeOnce(() => new Intl.DateTimeFormat(words.language, { dateStyle: "medium", timeZone: "UTC" }))
const times = makeOnce(
  () => new Intl.DateTimeFormat(words.language, { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" })
)
const formats = { hour: times, day: dates, month: months, period: times }

/** The start of a step, such as "Nov 16, 2026" for a day. */
export const formatStep = (start: string, step: PlotStep): string => formats[step]().format(new Date(start))
