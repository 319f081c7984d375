import { makeOnce, words } from "../words.ts"

const relative = makeOnce(() => new Intl.RelativeTimeFormat(words.language, { numeric: "auto" }))
const absolute = makeOnce(() => new Intl.DateTimeFormat(words.language, { dateStyle: "medium", timeStyle: "medium" }))

const units: ReadonlyArray<readonly [unit: Intl.RelativeTimeFormatUnit, ms: number]> = [
  ["year", 31_536_000_000],
  ["month", 2_628_000_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000]
]

const dates = makeOnce(() => new Intl.DateTimeFormat(words.language, { dateStyle: "medium" }))

export const formatDate = (timestamp: string): string => dates().format(new Date(timestamp))

export const formatTime = (timestamp: string): string => absolute().format(new Date(timestamp))

/** As in "3 hours ago" and "in 2 days". */
export const formatRelativeTime = (timestamp: string): string => {
  const difference = Date.parse(timestamp) - Date.now()
  const [unit, ms] = units.find(([, ms]) => Math.abs(difference) >= ms) ?? (["second", 1_000] as const)
  return relative().format(Math.trunc(difference / ms), unit)
}

/** The value of an input of the type `datetime-local`, in the time zone of the person. */
export const toLocalInput = (timestamp: string): string => {
  const date = new Date(timestamp)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

export const fromLocalInput = (value: string): string => new Date(value).toISOString()
