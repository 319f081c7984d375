/**
 * What a person enters for a plan: texts, until they are sent. Numbers that are not entered yet stay empty.
 */

import { InputError } from "../../api/ApiError.ts"
import type { PlanJson } from "../../api/types.ts"
import { type ConflictField, pairTexts } from "../../components/ConflictNotice.tsx"
import { formatCount } from "../../format/numbers.ts"

export interface MeterInput {
  readonly name: string
  readonly label: string
  readonly max: string
}

export interface RateLimitInput {
  readonly name: string
  readonly limit: string
  /** A unit, or "custom" for `perMs`. */
  readonly per: string
  readonly perMs: string
  readonly burst: string
}

export interface PlanInput {
  readonly label: string
  readonly planExternalId: string
  readonly meters: ReadonlyArray<MeterInput>
  readonly rateLimits: ReadonlyArray<RateLimitInput>
  readonly trialDays: string
  readonly trialEndStatus: string
  readonly isTrialCollectPayment: boolean
}

export const emptyMeter: MeterInput = { name: "", label: "", max: "" }
export const emptyRateLimit: RateLimitInput = { name: "", limit: "", per: "minute", perMs: "", burst: "" }

export const emptyPlan: PlanInput = {
  label: "",
  planExternalId: "",
  meters: [emptyMeter],
  rateLimits: [],
  trialDays: "",
  trialEndStatus: "",
  isTrialCollectPayment: false
}

export const toPlanInput = (plan: PlanJson): PlanInput => ({
  label: plan.label,
  planExternalId: plan.planExternalId,
  meters: Object.entries(plan.meters).map(([name, { label = "", max }]) => ({ name, label, max: String(max) })),
  rateLimits: Object.entries(plan.rateLimits ?? {}).map(([name, { limit, per, burst }]) => ({
    name,
    limit: String(limit),
    per: typeof per === "number" ? "custom" : per,
    perMs: typeof per === "number" ? String(per) : "",
    burst: burst === undefined ? "" : String(burst)
  })),
  trialDays: plan.trialDays === undefined ? "" : String(plan.trialDays),
  trialEndStatus: plan.trialEndStatus ?? "",
  isTrialCollectPayment: plan.isTrialCollectPayment ?? false
})

const toRateLimit = ({ limit, per, perMs, burst }: RateLimitInput) => ({
  limit: Number(limit),
  per: per === "custom" ? Number(perMs) : per,
  ...(burst === "" ? {} : { burst: Number(burst) })
})

/** The body of a request that creates or changes the plan. */
export const toPlanBody = (input: PlanInput, current?: PlanJson) => ({
  label: input.label,
  planExternalId: input.planExternalId,
  meters: Object.fromEntries(
    input.meters.map(({ name, label, max }) => [name, { max: Number(max), ...(label === "" ? {} : { label }) }])
  ),
  rateLimits: Object.fromEntries(input.rateLimits.map((rateLimit) => [rateLimit.name, toRateLimit(rateLimit)])),
  ...(input.trialDays === "" ? {} : { trialDays: Number(input.trialDays) }),
  ...(input.trialEndStatus === "" ? {} : { trialEndStatus: input.trialEndStatus }),
  ...(input.isTrialCollectPayment || current?.isTrialCollectPayment !== undefined
    ? { isTrialCollectPayment: input.isTrialCollectPayment }
    : {})
})

/** Throws if a name is given twice: only the last row would be saved. */
export const checkNames = (rows: ReadonlyArray<{ readonly name: string }>): void => {
  const names = rows.map(({ name }) => name)
  const duplicate = names.find((name, index) => names.indexOf(name) < index)
  if (duplicate !== undefined)
    throw new InputError("A name is given twice", `There are two rows with the name “${duplicate}”.`)
}

/** Throws what the server could not find wrong, because the body cannot say it. */
export const checkPlan = (input: PlanInput, current?: PlanJson): void => {
  checkNames(input.meters)
  checkNames(input.rateLimits)
  if (current?.trialDays !== undefined && input.trialDays === "")
    throw new InputError("The trial cannot be removed", "Enter 0 days instead: then a trial ends when it begins.")
  if (current?.trialEndStatus !== undefined && input.trialEndStatus === "")
    throw new InputError("The status after the trial cannot be removed", "Choose paused or canceled.")
}

export const describeMeter = ({ name, label, max }: MeterInput): string =>
  `${name}: ${formatCount(Number(max))}${label === "" ? "" : ` (${label})`}`

export const describeRateLimit = ({ name, limit, per, perMs, burst }: RateLimitInput): string =>
  `${name}: ${limit} per ${per === "custom" ? `${perMs} ms` : per}${burst === "" ? "" : `, at most ${burst} at once`}`

const describe = (input: PlanInput): ReadonlyArray<readonly [label: string, text: string]> => [
  ["Label", input.label],
  ["External id", input.planExternalId],
  ["Meters", input.meters.map(describeMeter).sort().join("; ")],
  ["Rate limits", input.rateLimits.map(describeRateLimit).sort().join("; ") || "none"],
  ["Trial in days", input.trialDays || "none"],
  ["After the trial", input.trialEndStatus || "active"],
  ["Collect payment for the trial", input.isTrialCollectPayment ? "yes" : "no"]
]

export const comparePlans = (mine: PlanInput, theirs: PlanInput): ReadonlyArray<ConflictField> =>
  pairTexts(describe(mine), describe(theirs))
