import { Effect, Option } from "effect"
import * as Collection from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import { StoredPlan } from "./Plan.ts"
import { PlanNotFound } from "./PlanError.ts"

export const externalIdClaim = (planExternalId: string): string => `external:${planExternalId}`

/** How plans are stored: by id, unique by their id in the external system. */
export const planRecords = Collection.make({
  name: "plan",
  format: 1,
  schema: StoredPlan,
  key: (plan) => plan.id,
  uniqueKeys: (plan) => [externalIdClaim(plan.planExternalId)]
})

export const findPlan = Effect.fnUntraced(function* (bucketId: string, planId: string) {
  const found = yield* planRecords.get(Partition.metering(bucketId), planId)
  return Option.isNone(found) ? yield* new PlanNotFound({ planId: String(planId) }) : found.value
})
