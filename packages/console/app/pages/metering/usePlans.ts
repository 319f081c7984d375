import { get } from "@tollgate/ui/api/request.ts"
import { type QueryState, useQuery } from "@tollgate/ui/data/useQuery.ts"
import { useReloadOn } from "@tollgate/ui/data/useReloadOn.ts"
import type { PlanJson } from "../../api/types.ts"
import { toPlanPath } from "./meteringAddresses.ts"

/** How many plans of a subscription are read; hardly any has more than two. */
const maxPlans = 10

/** The plans of a subscription. */
export const usePlans = (
  bucket: string,
  planIds: ReadonlyArray<string>,
  revision: number
): QueryState<ReadonlyArray<PlanJson>> => {
  const plans = useQuery<ReadonlyArray<PlanJson>>(`plans ${bucket} ${planIds.join(" ")}`, (signal) =>
    Promise.all(planIds.slice(0, maxPlans).map((plan) => get<PlanJson>(toPlanPath(bucket, plan), {}, signal)))
  )
  useReloadOn(plans, revision)
  return plans
}

export const toMeterLabels = (plans: ReadonlyArray<PlanJson>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    plans.flatMap(({ meters }) =>
      Object.entries(meters).flatMap(([name, { label }]) => (label === undefined ? [] : [[name, label]]))
    )
  )

/** The meters whose use can be shown by period one by one, because some have other periods than the subscription. */
export const toPeriodMeters = (plans: ReadonlyArray<PlanJson>): ReadonlyArray<string> => {
  const meters = plans.flatMap(({ meters }) => Object.entries(meters))
  if (meters.every(([, { period }]) => period === undefined)) return []
  return [...new Set(meters.flatMap(([name, { period }]) => (period === "none" ? [] : [name])))].sort()
}
