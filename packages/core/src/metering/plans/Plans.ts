/**
 * Operations on plans: list, create, ensure, get, update and remove.
 */

import {
  applyPatch,
  type CommitResult,
  checkVersion,
  type Entry,
  Ids,
  Partition,
  retryOnConflict,
  SecretBox,
  Store,
  StoreConflict,
  toPage
} from "@tollgate/store/internal"
import { Context, DateTime, Effect, Layer } from "effect"
import { limitReached } from "../../accounts/limits/LimitReached.ts"
import { Limits } from "../../accounts/limits/Limits.ts"
import { implementOperations } from "../../api/implementOperations.ts"
import type { Operations } from "../../api/Operations.ts"
import { findMeteringBucket, meteringBucketRecords } from "../model/meteringBucketRecords.ts"
import { recordPlanEvent } from "../model/meteringEvents.ts"
import { registerMeters } from "../model/meterRecords.ts"
import { type Plan, PlanId, type StoredPlan } from "../model/Plan.ts"
import { PlanExternalIdTaken, PlanInUse } from "../model/PlanError.ts"
import { findPlan, planRecords } from "../model/planRecords.ts"
import { byPlan, subscriptionRecords } from "../model/subscriptionRecords.ts"
import { makeEnsurePlans } from "./ensurePlans.ts"
import { PlansApi, type PlansMethods } from "./PlansApi.ts"
import { changesPeriod, keepFormerPeriods, omitEmpty, toPlan } from "./planFields.ts"

const make = Effect.gen(function* () {
  const { metersPerMeteringBucket, plansPerMeteringBucket } = yield* Limits
  const store = yield* Store
  const secretBox = yield* SecretBox

  /** Adds `hasSubscriptions` to plans, in one store call. */
  const toPlans = Effect.fnUntraced(function* (bucketId: string, plans: ReadonlyArray<StoredPlan>) {
    const subscriptionPages = yield* subscriptionRecords.pages(
      Partition.forMeteringBucket(bucketId),
      plans.map(({ id }) => ({ where: [byPlan(id)], offset: 0, limit: 0 }))
    )
    return plans.map((plan, index) => toPlan(plan, (subscriptionPages[index]?.total ?? 0) > 0))
  })

  const toPlanEntry = Effect.fnUntraced(function* (bucketId: string, { value, version }: Entry<StoredPlan>) {
    const [plan = toPlan(value, false)] = yield* toPlans(bucketId, [value])
    return { value: plan, version }
  })

  /** A value with the version that the commit gave it. */
  const toCommittedEntry = (value: Plan, commitResult: CommitResult): Entry<Plan> => ({
    value,
    version: planRecords.getVersion(commitResult, value.id)
  })

  const mapConflict = <A, E, R>(planExternalId: string | undefined, effect: Effect.Effect<A, E | StoreConflict, R>) =>
    Effect.mapError(effect, (error) => {
      if (!(error instanceof StoreConflict)) return error
      if (error.reason === "unique-key") return new PlanExternalIdTaken({ planExternalId: planExternalId ?? "" })
      return error.reason === "too-many-records"
        ? limitReached("plansPerMeteringBucket", plansPerMeteringBucket)
        : error
    })

  /** For commits that fail if the plan has subscriptions. */
  const mapPlanInUse = <A, E, R>(planId: string, effect: Effect.Effect<A, E | StoreConflict, R>) =>
    Effect.mapError(effect, (error) =>
      error instanceof StoreConflict && error.reason === "too-many-records" ? new PlanInUse({ planId }) : error
    )

  const ensurePlans = makeEnsurePlans({ store, toPlans, metersPerMeteringBucket, plansPerMeteringBucket })

  return implementOperations(PlansApi, { store, secretBox })({
    list: Effect.fnUntraced(function* ({ params: { bucketId }, query }) {
      yield* findMeteringBucket(bucketId)
      const page = yield* planRecords.page(Partition.forMeteringBucket(bucketId), {
        ...query,
        mayEndEarly: true
      })
      const data = yield* toPlans(
        bucketId,
        page.entries.map(({ value }) => value)
      )
      return toPage(query, page, data)
    }),

    create: Effect.fnUntraced(function* ({ params: { bucketId }, payload: input }, once) {
      const partition = Partition.forMeteringBucket(bucketId)
      const commitOnce = once(partition, toCommittedEntry)
      const attempt = Effect.gen(function* () {
        const bucketEntry = yield* findMeteringBucket(bucketId)
        const now = yield* DateTime.now
        const stored: StoredPlan = {
          id: PlanId.make(yield* Ids.generate("plan")),
          createdOn: now,
          updatedOn: now,
          ...omitEmpty(input)
        }
        const plan = { ...stored, hasSubscriptions: false }
        const changes = [
          meteringBucketRecords.assertUnchanged(bucketEntry),
          ...(yield* registerMeters(partition, Object.keys(stored.meters), metersPerMeteringBucket)),
          planRecords.insert(stored),
          planRecords.assertAtMost(undefined, plansPerMeteringBucket - 1),
          yield* recordPlanEvent("plan.created", bucketEntry.value, plan)
        ]
        return toCommittedEntry(plan, yield* commitOnce(changes, plan))
      })
      return yield* mapConflict(input.planExternalId, retryOnConflict(attempt))
    }),

    ensure: ({ params: { bucketId }, payload }) => ensurePlans(bucketId, payload.plans),

    get: Effect.fnUntraced(function* ({ params: { bucketId, planId } }) {
      yield* findMeteringBucket(bucketId)
      return yield* toPlanEntry(bucketId, yield* findPlan(bucketId, planId))
    }),

    update: Effect.fnUntraced(function* ({ params: { bucketId, planId }, headers: { ifMatch } = {}, payload: patch }) {
      const attempt = Effect.gen(function* () {
        const bucketEntry = yield* findMeteringBucket(bucketId)
        const entry = yield* findPlan(bucketId, planId)
        yield* checkVersion(entry, ifMatch)
        const patched = omitEmpty(applyPatch(entry.value, { ...patch, updatedOn: yield* DateTime.now }))
        const value = keepFormerPeriods(entry.value, patched)
        const partition = Partition.forMeteringBucket(bucketId)
        // Before the commit, because it reads from the store: an update that was applied must not fail.
        const { value: plan } = yield* toPlanEntry(bucketId, { ...entry, value })
        const commitResult = yield* store.commit(partition, [
          meteringBucketRecords.assertUnchanged(bucketEntry),
          ...(yield* registerMeters(partition, Object.keys(value.meters), metersPerMeteringBucket)),
          planRecords.replace(entry, value),
          ...(changesPeriod(entry.value, value) ? [subscriptionRecords.assertAtMost(byPlan(entry.value.id), 0)] : []),
          yield* recordPlanEvent("plan.updated", bucketEntry.value, plan)
        ])
        return toCommittedEntry(plan, commitResult)
      })
      return yield* mapConflict(patch.planExternalId, mapPlanInUse(planId, retryOnConflict(attempt)))
    }),

    remove: Effect.fnUntraced(function* ({ params: { bucketId, planId }, headers: { ifMatch } = {} }) {
      const attempt = Effect.gen(function* () {
        const bucketEntry = yield* findMeteringBucket(bucketId)
        const entry = yield* findPlan(bucketId, planId)
        yield* checkVersion(entry, ifMatch)
        yield* store.commit(Partition.forMeteringBucket(bucketId), [
          meteringBucketRecords.assertUnchanged(bucketEntry),
          subscriptionRecords.assertAtMost(byPlan(entry.value.id), 0),
          planRecords.remove(entry),
          yield* recordPlanEvent("plan.deleted", bucketEntry.value, toPlan(entry.value, false))
        ])
      })
      yield* mapPlanInUse(planId, retryOnConflict(attempt))
    })
  })
})

/** The operations on plans: `list`, `create`, `ensure`, `get`, `update` and `remove`. Each takes one `OperationRequest`. */
export class Plans extends Context.Service<Plans, Operations<typeof PlansApi, PlansMethods>>()(
  "@tollgate/core/metering/Plans"
) {
  static readonly layer = Layer.effect(Plans, make)
}
