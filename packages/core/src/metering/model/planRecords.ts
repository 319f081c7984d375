import { Collection, Partition, type SearchField, Store, toSearchTerms } from "@tollgate/store/internal"
import { Effect, Option } from "effect"
import { StoredPlan } from "./Plan.ts"
import { PlanNotFound } from "./PlanError.ts"

export const byPlanExternalId = (planExternalId: string): string => `external:${planExternalId}`

/** What plans are found by. */
export const getPlanSearchFields = ({ id, planExternalId, label }: StoredPlan): ReadonlyArray<SearchField> => [
  { field: "planExternalId", texts: [planExternalId] },
  { field: "label", texts: [label, ...label.split(/\s+/u)] },
  { field: "id", texts: [id] }
]

/** Stores plans by id; unique by external id. */
export const planRecords = Collection.make({
  name: "plan",
  format: 1,
  schema: StoredPlan,
  key: (plan) => plan.id,
  uniqueKeys: (plan) => [byPlanExternalId(plan.planExternalId)],
  searchTerms: (plan) => toSearchTerms(getPlanSearchFields(plan))
})

export const findPlan = Effect.fnUntraced(function* (bucketId: string, planId: string) {
  const entry = yield* planRecords.get(Partition.forMeteringBucket(bucketId), planId)
  return Option.isNone(entry) ? yield* new PlanNotFound({ planId: String(planId) }) : entry.value
})

/** The plans with these ids, read in one store call. Missing plans are skipped. */
export const readPlans = Effect.fnUntraced(function* (bucketId: string, planIds: ReadonlyArray<string>) {
  const store = yield* Store
  const records = yield* store.get(Partition.forMeteringBucket(bucketId), planIds.map(planRecords.recordKey))
  return yield* Effect.forEach(
    records.filter((record) => record !== undefined),
    planRecords.decode
  )
})
