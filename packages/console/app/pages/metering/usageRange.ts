/** The ranges and steps of usage that a person can choose. */
import type { UsageStep } from "@tollgate/ui/format/steps.ts"

const hourMs = 3_600_000
const dayMs = 24 * hourMs

export const usageRanges = [
  { value: "1", label: "24 hours" },
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" }
]

/** The server keeps hours for this many days. */
export const keptHourDays = 8

const stepMs: Readonly<Record<UsageStep, number>> = { hour: hourMs, day: dayMs, period: 0 }

export interface UsageRange {
  readonly days: number
  readonly step: UsageStep
}

/** Reads the range from the query of the address; anything else than a choice is the default. */
export const parseRange = (query: Readonly<Record<string, string>>, steps: ReadonlyArray<UsageStep>): UsageRange => ({
  days: Number(usageRanges.find(({ value }) => value === query["range"])?.value ?? 30),
  step: steps.find((step) => step === query["step"]) ?? "day"
})

/** The present step is the last one, so that "7 days" are 7 steps. */
export const toUsageQuery = ({ days, step }: UsageRange, now: number) => {
  const length = Math.min(days, step === "hour" ? keptHourDays : days) * dayMs
  return { step, from: new Date(now - length + stepMs[step]).toISOString() }
}
