/**
 * Makes the plans of a metering bucket what a list says, in one commit: creates those that do not exist, and updates those
 * that differ. Safe to do in several processes at once.
 */

import {
  type Entry,
  Ids,
  Partition,
  retryOnConflict,
  type Store,
  StoreConflict,
  type StoreError,
  type StoreOperations
} from "@tollgate/store/internal"
import { DateTime, Effect, Equal } from "effect"
import { limitReached } from "../../accounts/limits/LimitReached.ts"
import { findMeteringBucket, meteringBucketRecords } from "../model/meteringBucketRecords.ts"
import { recordPlanEvent } from "../model/meteringEvents.ts"
import { registerMeters } from "../model/meterRecords.ts"
import { type EnsuredPlan, type Plan, type PlanCreate, PlanId, type StoredPlan } from "../model/Plan.ts"
import { PlanInUse } from "../model/PlanError.ts"
import { byPlanExternalId, planRecords } from "../model/planRecords.ts"
import { byPlan, subscriptionRecords } from "../model/subscriptionRecords.ts"
import { changesPeriod, keepFormerPeriods, omitEmpty } from "./planFields.ts"

interface Services {
  readonly store: StoreOperations
  readonly toPlans: (
    bucketId: string,
    plans: ReadonlyArray<StoredPlan>
  ) => Effect.Effect<ReadonlyArray<Plan>, StoreError, Store>
  readonly metersPerMeteringBucket: number
  readonly plansPerMeteringBucket: number
}

/** A plan of the list, and what it is now. */
interface Target {
  readonly before: Entry<StoredPlan> | undefined
  readonly after: StoredPlan
  readonly changedFields: ReadonlyArray<string>
}

/** The fields in which a plan differs from what the list says. A field that the list leaves out is to be removed. */
const findChanges = (
  { id: _, createdOn: __, updatedOn: ___, formerPeriods: ____, ...before }: StoredPlan,
  after: PlanCreate
) => {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  const [left, right]: ReadonlyArray<Readonly<Record<string, unknown>>> = [before, after]
  return [...names].filter((name) => !Equal.equals(left?.[name], right?.[name])).sort()
}

const getOutcome = ({ before, changedFields }: Target): EnsuredPlan["outcome"] =>
  before === undefined ? "created" : changedFields.length > 0 ? "updated" : "unchanged"

export const makeEnsurePlans = ({ store, toPlans, metersPerMeteringBucket, plansPerMeteringBucket }: Services) => {
  const toTargets = Effect.fnUntraced(function* (partition: Partition.Partition, inputs: ReadonlyArray<PlanCreate>) {
    const now = yield* DateTime.now
    const uniqueKeys = inputs.map(({ planExternalId }) => planRecords.uniqueKey(byPlanExternalId(planExternalId)))
    const found = yield* store.getByUniqueKey(partition, uniqueKeys)
    return yield* Effect.forEach(
      inputs,
      Effect.fnUntraced(function* (input, index) {
        const [record, plan] = [found[index]?.record, omitEmpty(input)]
        if (record === undefined) {
          const id = PlanId.make(yield* Ids.generate("plan"))
          return { before: undefined, after: { id, createdOn: now, updatedOn: now, ...plan }, changedFields: [] }
        }
        const before = yield* planRecords.decode(record)
        const changedFields = findChanges(before.value, plan)
        const { id, createdOn } = before.value
        const ensured = { id, createdOn, updatedOn: now, ...plan }
        const after = changedFields.length === 0 ? before.value : keepFormerPeriods(before.value, ensured)
        return { before, after, changedFields }
      })
    )
  })

  return (bucketId: string, inputs: ReadonlyArray<PlanCreate>) => {
    const partition = Partition.forMeteringBucket(bucketId)
    const attempt = Effect.gen(function* () {
      const bucketEntry = yield* findMeteringBucket(bucketId)
      const targets: ReadonlyArray<Target> = yield* toTargets(partition, inputs)
      const plans = yield* toPlans(
        bucketId,
        targets.map(({ after }) => after)
      )
      const results = plans.map((plan, index): EnsuredPlan => {
        const target = targets[index]
        return target === undefined
          ? { outcome: "unchanged", changedFields: [], plan }
          : { outcome: getOutcome(target), changedFields: target.changedFields, plan }
      })
      const created = targets.filter(({ before }) => before === undefined)
      if (created.length > plansPerMeteringBucket) {
        return yield* limitReached("plansPerMeteringBucket", plansPerMeteringBucket)
      }
      const changes = yield* Effect.forEach(
        results,
        Effect.fnUntraced(function* ({ outcome, plan }, index) {
          const { before, after } = targets[index] ?? {}
          if (after === undefined || outcome === "unchanged") return []
          if (before === undefined) {
            return [planRecords.insert(after), yield* recordPlanEvent("plan.created", bucketEntry.value, plan)]
          }
          return [
            planRecords.replace(before, after),
            ...(changesPeriod(before.value, after) ? [subscriptionRecords.assertAtMost(byPlan(after.id), 0)] : []),
            yield* recordPlanEvent("plan.updated", bucketEntry.value, plan)
          ]
        })
      )
      if (changes.some((change) => change.length > 0)) {
        const meters = targets.flatMap(({ after }) => Object.keys(after.meters))
        yield* store.commit(partition, [
          meteringBucketRecords.assertUnchanged(bucketEntry),
          ...(yield* registerMeters(partition, meters, metersPerMeteringBucket)),
          ...(created.length === 0
            ? []
            : [planRecords.assertAtMost(undefined, plansPerMeteringBucket - created.length)]),
          ...changes.flat()
        ])
      }
      return { data: results }
    })
    // Another process may have created one of them meanwhile.
    const isTaken = (error: unknown) => error instanceof StoreConflict && error.reason === "unique-key"
    return retryOnConflict(attempt, isTaken).pipe(
      Effect.mapError((error) => {
        if (!(error instanceof StoreConflict) || error.reason !== "too-many-records") return error
        const term = subscriptionRecords.indexTerm(byPlan(""))
        return error.subject.startsWith(term)
          ? new PlanInUse({ planId: error.subject.slice(term.length) })
          : limitReached("plansPerMeteringBucket", plansPerMeteringBucket)
      })
    )
  }
}
