/**
 * What a person enters for a plan: texts, until they are sent. Numbers that are not entered yet stay empty.
 */

import { InputError } from "@tollgate/ui/api/ApiError.ts"
import { type ConflictField, pairTexts } from "@tollgate/ui/components/ConflictNotice.tsx"
import { formatCount } from "@tollgate/ui/format/numbers.ts"
import type { PlanJson } from "../../api/types.ts"
import { describeFeature, type FeatureInput, toFeatureInputs, toFeatures } from "./featureForm.ts"

export interface MeterInput {
  readonly name: string
  readonly label: string
  readonly max: string
  /** Empty: that of the subscription. */
  readonly period: string
  readonly isSoftLimit: boolean
  /** Empty: any. */
  readonly overageMax: string
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
  readonly features: ReadonlyArray<FeatureInput>
  readonly trialDays: string
  readonly trialEndStatus: string
  readonly isTrialCollectPayment: boolean
}

export const emptyMeter: MeterInput = {
  name: "",
  label: "",
  max: "",
  period: "",
  isSoftLimit: false,
  overageMax: ""
}
export const emptyRateLimit: RateLimitInput = { name: "", limit: "", per: "minute", perMs: "", burst: "" }

export const emptyPlan: PlanInput = {
  label: "",
  planExternalId: "",
  meters: [emptyMeter],
  rateLimits: [],
  features: [],
  trialDays: "",
  trialEndStatus: "",
  isTrialCollectPayment: false
}

export const toRateLimitInput = (
  name: string,
  { limit, per, burst }: NonNullable<PlanJson["rateLimits"]>[string]
): RateLimitInput => ({
  name,
  limit: String(limit),
  per: typeof per === "number" ? "custom" : per,
  perMs: typeof per === "number" ? String(per) : "",
  burst: burst === undefined ? "" : String(burst)
})

export const toPlanInput = (plan: PlanJson): PlanInput => ({
  label: plan.label,
  planExternalId: plan.planExternalId,
  meters: Object.entries(plan.meters).map(
    ([name, { label = "", max, period = "", isSoftLimit = false, overageMax }]) => ({
      name,
      label,
      max: String(max),
      period,
      isSoftLimit,
      overageMax: overageMax === undefined ? "" : String(overageMax)
    })
  ),
  rateLimits: Object.entries(plan.rateLimits ?? {}).map(([name, rateLimit]) => toRateLimitInput(name, rateLimit)),
  features: toFeatureInputs(plan.features),
  trialDays: plan.trialDays === undefined ? "" : String(plan.trialDays),
  trialEndStatus: plan.trialEndStatus ?? "",
  isTrialCollectPayment: plan.isTrialCollectPayment ?? false
})

export const toRateLimit = ({ limit, per, perMs, burst }: RateLimitInput) => ({
  limit: Number(limit),
  per: per === "custom" ? Number(perMs) : per,
  ...(burst === "" ? {} : { burst: Number(burst) })
})

/** The body of a request that creates or changes the plan. */
export const toPlanBody = (input: PlanInput, current?: PlanJson) => ({
  label: input.label,
  planExternalId: input.planExternalId,
  meters: Object.fromEntries(
    input.meters.map(({ name, label, max, period, isSoftLimit, overageMax }) => [
      name,
      {
        max: Number(max),
        ...(label === "" ? {} : { label }),
        ...(period === "" ? {} : { period }),
        ...(isSoftLimit ? { isSoftLimit, ...(overageMax === "" ? {} : { overageMax: Number(overageMax) }) } : {})
      }
    ])
  ),
  features: toFeatures(input.features),
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
  checkNames(input.features)
  if (current?.trialDays !== undefined && input.trialDays === "")
    throw new InputError("The trial cannot be removed", "Enter 0 days instead: then a trial ends when it begins.")
  if (current?.trialEndStatus !== undefined && input.trialEndStatus === "")
    throw new InputError("The status after the trial cannot be removed", "Choose paused or canceled.")
}

/** When a meter begins at 0 again. */
export const describePeriod = (period: string): string =>
  period === "" ? "period of the subscription" : period === "none" ? "never resets" : `by ${period}`

export const describeMeter = ({ name, label, max, period, isSoftLimit, overageMax }: MeterInput): string =>
  [
    `${name}: ${formatCount(Number(max))}${label === "" ? "" : ` (${label})`}`,
    ...(period === "" ? [] : [describePeriod(period)]),
    ...(isSoftLimit ? ["soft limit"] : []),
    ...(isSoftLimit && overageMax !== "" ? [`overage up to ${formatCount(Number(overageMax))}`] : [])
  ].join(", ")

export const describeRateLimit = ({ name, limit, per, perMs, burst }: RateLimitInput): string =>
  `${name}: ${limit} per ${per === "custom" ? `${perMs} ms` : per}${burst === "" ? "" : `, at most ${burst} at once`}`

const describe = (input: PlanInput): ReadonlyArray<readonly [label: string, text: string]> => [
  ["Label", input.label],
  ["Your id of the plan", input.planExternalId],
  ["Meters", input.meters.map(describeMeter).sort().join("; ")],
  ["Rate limits", input.rateLimits.map(describeRateLimit).sort().join("; ") || "none"],
  ["Features", input.features.map(describeFeature).sort().join("; ") || "none"],
  ["Trial in days", input.trialDays || "none"],
  ["After the trial", input.trialEndStatus || "active"],
  ["Collect payment for the trial", input.isTrialCollectPayment ? "yes" : "no"]
]

export const comparePlans = (mine: PlanInput, theirs: PlanInput): ReadonlyArray<ConflictField> =>
  pairTexts(describe(mine), describe(theirs))
