/**
 * What a subscription has instead of what its plans say. It survives changes of the plans.
 */

import { optionalFields, recordByShortName } from "@tollgate/store/internal"
import { Schema } from "effect"
import { RateLimit, type RateLimitPolicy, toPolicy } from "../../rateLimits/RateLimit.ts"
import { FeatureOverrides } from "./Features.ts"
import { PlanLimit } from "./Plan.ts"

const { period: _, max, isSoftLimit, overageMax } = PlanLimit.fields

/** What replaces the limit of a meter. The period of the meter stays. */
const MeterOverride = Schema.Struct({ max: Schema.optionalKey(max), isSoftLimit, overageMax }).annotate({
  identifier: "MeterOverride",
  message: 'must be an object such as { "max": 1000 }'
})

/** By name, for one subscription: limits of meters, also of more meters than the plans have, rate limits and features. */
export const Overrides = Schema.Struct(
  optionalFields({
    meters: recordByShortName(MeterOverride)
      .annotate({ message: 'must be an object such as { "requests": { "max": 1000 } }' })
      .pipe(Schema.check(Schema.isMaxProperties(50))),
    /** `null` lifts a rate limit of the plans. */
    rateLimits: recordByShortName(Schema.NullOr(RateLimit))
      .annotate({ message: 'must be an object such as { "requests": { "limit": 10, "per": "second" } }' })
      .pipe(Schema.check(Schema.isMaxProperties(10))),
    /** `false` takes a feature away. */
    features: FeatureOverrides
  })
).annotate({ identifier: "Overrides" })
export type Overrides = typeof Overrides.Type

/** The limit of a meter: that of the plans, combined, or of an override. */
export interface CombinedLimit {
  max: number
  isSoft: boolean
  overageMax: number
}

/** Changes the combined limit of a meter, if there is one. Otherwise returns what an override with a maximum adds. */
export const overrideLimit = <Limit extends CombinedLimit>(
  limit: Limit | undefined,
  { max, isSoftLimit, overageMax }: NonNullable<Overrides["meters"]>[string],
  makeLimit: () => Limit
): Limit | undefined => {
  if (limit === undefined && max === undefined) return undefined
  const overridden = limit ?? makeLimit()
  if (max !== undefined) overridden.max = Math.min(Math.floor(max), Number.MAX_SAFE_INTEGER)
  if (isSoftLimit === true && !overridden.isSoft) overridden.overageMax = Number.POSITIVE_INFINITY
  overridden.isSoft = isSoftLimit ?? overridden.isSoft
  if (overageMax !== undefined) overridden.overageMax = Math.floor(overageMax)
  return overridden
}

/** Replaces or lifts rate limits, by name. */
export const overrideRateLimits = (policies: Map<string, RateLimitPolicy>, { rateLimits = {} }: Overrides): void => {
  for (const [name, rateLimit] of Object.entries(rateLimits)) {
    if (rateLimit === null) policies.delete(name)
    else policies.set(name, toPolicy(name, rateLimit))
  }
}
