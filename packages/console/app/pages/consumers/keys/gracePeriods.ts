/** How long the former keys go on working after a roll. */
import { getServerTime } from "@tollgate/ui/session/serverClock.ts"

const hourMs = 3_600_000
const dayMs = 24 * hourMs

export type GracePeriod = "now" | "hour" | "day" | "week" | "month" | "custom"

const lengths: Readonly<Record<Exclude<GracePeriod, "custom">, number>> = {
  // The clock of the server is known to the second.
  now: -2_000,
  hour: hourMs,
  day: dayMs,
  week: 7 * dayMs,
  month: 30 * dayMs
}

export const gracePeriods: ReadonlyArray<{ readonly value: GracePeriod; readonly label: string }> = [
  { value: "now", label: "Stop at once" },
  { value: "hour", label: "1 hour" },
  { value: "day", label: "1 day" },
  { value: "week", label: "7 days" },
  { value: "month", label: "30 days" },
  { value: "custom", label: "Until a date" }
]

export const toExpiry = (period: Exclude<GracePeriod, "custom">): string =>
  new Date(getServerTime() + lengths[period]).toISOString()
