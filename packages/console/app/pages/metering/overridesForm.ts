/** What a person enters for one subscription instead of what its plans say. */

import { type ConflictField, pairTexts } from "@tollgate/ui/components/ConflictNotice.tsx"
import { formatCount } from "@tollgate/ui/format/numbers.ts"
import type { SubscriptionJson } from "../../api/types.ts"
import { describeFeature, type FeatureInput, toFeatureInputs, toFeatures } from "./featureForm.ts"
import { checkNames, describeRateLimit, type RateLimitInput, toRateLimit, toRateLimitInput } from "./planForm.ts"

export interface MeterOverrideInput {
  readonly name: string
  /** Empty: as the plans say. */
  readonly max: string
  readonly isSoftLimit: "" | "yes" | "no"
  readonly overageMax: string
}

export interface OverridesInput {
  readonly meters: ReadonlyArray<MeterOverrideInput>
  readonly rateLimits: ReadonlyArray<RateLimitInput>
  readonly features: ReadonlyArray<FeatureInput>
}

export const emptyMeterOverride: MeterOverrideInput = { name: "", max: "", isSoftLimit: "", overageMax: "" }

const toText = (value: number | undefined): string => (value === undefined ? "" : String(value))

export const toOverridesInput = ({ overrides = {} }: SubscriptionJson): OverridesInput => ({
  meters: Object.entries(overrides.meters ?? {}).map(([name, { max, isSoftLimit, overageMax }]) => ({
    name,
    max: toText(max),
    isSoftLimit: isSoftLimit === undefined ? "" : isSoftLimit ? "yes" : "no",
    overageMax: toText(overageMax)
  })),
  rateLimits: Object.entries(overrides.rateLimits ?? {}).map(([name, rateLimit]) =>
    rateLimit === null ? { name, limit: "", per: "none", perMs: "", burst: "" } : toRateLimitInput(name, rateLimit)
  ),
  features: toFeatureInputs(overrides.features)
})

const toMeter = ({ max, isSoftLimit, overageMax }: MeterOverrideInput) => ({
  ...(max === "" ? {} : { max: Number(max) }),
  ...(isSoftLimit === "" ? {} : { isSoftLimit: isSoftLimit === "yes" }),
  ...(overageMax === "" ? {} : { overageMax: Number(overageMax) })
})

/** The body of the request that changes the overrides. Throws if a name is given twice. */
export const toOverridesBody = ({ meters, rateLimits, features }: OverridesInput) => {
  for (const rows of [meters, rateLimits, features]) checkNames(rows)
  const overrides = {
    ...(meters.length > 0 && { meters: Object.fromEntries(meters.map((meter) => [meter.name, toMeter(meter)])) }),
    ...(rateLimits.length > 0 && {
      rateLimits: Object.fromEntries(
        rateLimits.map((rateLimit) => [rateLimit.name, rateLimit.per === "none" ? null : toRateLimit(rateLimit)])
      )
    }),
    ...(features.length > 0 && { features: toFeatures(features) })
  }
  return { overrides: Object.keys(overrides).length === 0 ? null : overrides }
}

const describeMeter = ({ name, max, isSoftLimit, overageMax }: MeterOverrideInput): string =>
  [
    `${name}: ${max === "" ? "maximum of the plans" : formatCount(Number(max))}`,
    ...(isSoftLimit === "" ? [] : [isSoftLimit === "yes" ? "soft limit" : "hard limit"]),
    ...(overageMax === "" ? [] : [`overage up to ${formatCount(Number(overageMax))}`])
  ].join(", ")

/** Each part that is overridden, in words. */
export const describeOverrides = (input: OverridesInput): ReadonlyArray<readonly [label: string, text: string]> => [
  ["Meters", input.meters.map(describeMeter).sort().join("; ")],
  [
    "Rate limits",
    input.rateLimits
      .map((rateLimit) => (rateLimit.per === "none" ? `${rateLimit.name}: no limit` : describeRateLimit(rateLimit)))
      .sort()
      .join("; ")
  ],
  ["Features", input.features.map(describeFeature).sort().join("; ")]
]

const orNone = (input: OverridesInput) =>
  describeOverrides(input).map(([label, text]) => [label, text || "none"] as const)

export const compareOverrides = (mine: OverridesInput, theirs: OverridesInput): ReadonlyArray<ConflictField> =>
  pairTexts(orNone(mine), orNone(theirs))
