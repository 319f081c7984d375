/**
 * Clock hours and days in UTC, as numbers since the epoch.
 */
export const hourMs = 60 * 60 * 1000
/** The length of a day in UTC. */
export const dayMs = 24 * hourMs

export const toHour = (millis: number): number => Math.floor(millis / hourMs)
export const toDay = (millis: number): number => Math.floor(millis / dayMs)
export const getDayOfHour = (hour: number): number => Math.floor(hour / 24)

/** The month of a day, such as `2026-11`. */
export const getMonth = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 7)

/** Days since the epoch. `end` is exclusive. */
export interface Days {
  readonly start: number
  readonly end: number
}
