import { get } from "../../api/request.ts"
import type { PlanJson } from "../../api/types.ts"
import { type QueryState, useQuery } from "../../data/useQuery.ts"
import { useReloadOn } from "../../data/useReloadOn.ts"
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
