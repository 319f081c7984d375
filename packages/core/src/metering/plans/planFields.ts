import type { Plan, StoredPlan } from "../model/Plan.ts"

/** A plan without rate limits, or without features, has no such field. */
export const omitEmpty = <P extends Pick<StoredPlan, "rateLimits" | "features">>({
  rateLimits = {},
  features = {},
  ...rest
}: P) => ({
  ...rest,
  ...(Object.keys(rateLimits).length === 0 ? {} : { rateLimits }),
  ...(Object.keys(features).length === 0 ? {} : { features })
})

type Periods = NonNullable<StoredPlan["formerPeriods"]>

/** How many meters that a plan no longer has are remembered. */
const maxFormer = 200

const getPeriods = ({ meters, formerPeriods = {} }: StoredPlan): Periods => ({
  ...formerPeriods,
  ...Object.fromEntries(
    Object.entries(meters).map(([meter, { period }]): [string, Periods[string]] => [meter, period ?? "subscription"])
  )
})

/** Whether a meter has another period than before, or than it had when it was removed: its counters would be others. */
export const changesPeriod = (before: StoredPlan, after: StoredPlan): boolean => {
  const periods = getPeriods(before)
  return Object.entries(after.meters).some(
    ([meter, { period = "subscription" }]) => Object.hasOwn(periods, meter) && periods[meter] !== period
  )
}

/** The plan with the periods of the meters that it no longer has. */
export const keepFormerPeriods = (before: StoredPlan, { formerPeriods: _, ...after }: StoredPlan): StoredPlan => {
  const former = Object.entries(getPeriods(before)).filter(([meter]) => !Object.hasOwn(after.meters, meter))
  return former.length === 0 ? after : { ...after, formerPeriods: Object.fromEntries(former.slice(-maxFormer)) }
}

export const toPlan = ({ formerPeriods: _, ...plan }: StoredPlan, hasSubscriptions: boolean): Plan => ({
  ...plan,
  hasSubscriptions
})
