/** How many requests were allowed and refused. */
import { find } from "@tollgate/ui/api/request.ts"
import type { PlotSeries } from "@tollgate/ui/components/drawPlot.ts"
import type { OutcomesJson } from "../../api/types.ts"
import { type BucketParams, toBucketPath } from "../consumers/paths.ts"
import { getStatus, type RefusalReason } from "./reasons.ts"

const hourMs = 3_600_000
const dayMs = 24 * hourMs

export const outcomePeriods = [
  { value: "day", label: "24 hours", step: "hour", stepMs: hourMs, steps: 24 },
  { value: "week", label: "7 days", step: "day", stepMs: dayMs, steps: 7 },
  { value: "month", label: "30 days", step: "day", stepMs: dayMs, steps: 30 },
  { value: "quarter", label: "90 days", step: "day", stepMs: dayMs, steps: 90 }
] as const

export type OutcomePeriod = (typeof outcomePeriods)[number]

/** Reads the period from the address; anything else than a choice is the default. */
export const parsePeriod = (text: string | undefined): OutcomePeriod =>
  outcomePeriods.find(({ value }) => value === text) ?? outcomePeriods[2]

/** Where a period begins that ends now. */
export const getStart = ({ stepMs, steps }: OutcomePeriod): string =>
  new Date(Date.now() - (steps - 1) * stepMs).toISOString()

/** The outcomes of a period that ends now, or `undefined` if the server has no log of decisions. */
export const loadOutcomes = (
  params: BucketParams,
  period: OutcomePeriod,
  signal: AbortSignal,
  consumer?: string
): Promise<OutcomesJson | undefined> =>
  find<OutcomesJson>(
    `${toBucketPath(params)}/outcomes`,
    { step: period.step, from: getStart(period), consumer },
    signal
  )

export interface OutcomeTotals {
  readonly allowed: number
  readonly refused: number
  /** The most frequent reason first. */
  readonly reasons: ReadonlyArray<readonly [reason: RefusalReason, count: number]>
}

type Refused = OutcomesJson["data"][number]["refused"]

const listReasons = (refused: Refused) => Object.entries(refused) as Array<[RefusalReason, number | undefined]>

export const addOutcomes = ({ data }: OutcomesJson): OutcomeTotals => {
  const byReason = new Map<RefusalReason, number>()
  for (const [reason, count = 0] of data.flatMap(({ refused }) => listReasons(refused)))
    byReason.set(reason, (byReason.get(reason) ?? 0) + count)
  const reasons = [...byReason].sort(([, a], [, b]) => b - a)
  return {
    allowed: data.reduce((sum, { allowed }) => sum + allowed, 0),
    refused: reasons.reduce((sum, [, count]) => sum + count, 0),
    reasons
  }
}

/** A line for what was allowed, and in a plot of their own one for each status of what was refused. */
export const toSeries = (outcomes: OutcomesJson): ReadonlyArray<PlotSeries> => {
  const { reasons } = addOutcomes(outcomes)
  const statuses = [...new Set(reasons.map(([reason]) => getStatus(reason)))].sort()
  return [
    { name: "Allowed", values: outcomes.data.map(({ allowed }) => allowed) },
    ...statuses.map((status) => ({
      name: status,
      group: "Refused",
      values: outcomes.data.map(({ refused }) =>
        listReasons(refused).reduce((sum, [reason, count = 0]) => (getStatus(reason) === status ? sum + count : sum), 0)
      )
    }))
  ]
}
