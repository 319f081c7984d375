/** The steps of usage are hours and days of the clock in UTC, or periods; so are the times that name them. */
export type UsageStep = "hour" | "day" | "period"

const dates = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" })
const times = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" })

/** The start of a step, such as "Nov 16, 2026" for a day. */
export const formatStep = (start: string, step: UsageStep): string =>
  (step === "day" ? dates : times).format(new Date(start))
