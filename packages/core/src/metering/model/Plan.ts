/**
 * A plan: the limit of each meter in a period, rate limits, features, and the settings of its trial.
 */

import {
  clearableFields,
  Id,
  isMaxCharacters,
  MeterName,
  optionalFields,
  recordByShortName,
  ShortText,
  Timestamp
} from "@tollgate/store/internal"
import { Schema } from "effect"
import { RateLimit } from "../../rateLimits/RateLimit.ts"
import { Features } from "./Features.ts"
import { PeriodKind } from "./Period.ts"

/** The id of a plan. It begins with `plan_`. */
export const PlanId = Id("plan").pipe(Schema.brand("PlanId"))
export type PlanId = typeof PlanId.Type

const max = Schema.Finite.pipe(Schema.check(Schema.isGreaterThanOrEqualTo(0)))

const MeterLabel = Schema.String.pipe(Schema.check(isMaxCharacters(256)))

const limitFields = {
  max,
  /** When the meter starts at 0 again. Default: with each period of the subscription. */
  period: Schema.optionalKey(PeriodKind),
  /** Use above `max` is counted as overage, and not refused. */
  isSoftLimit: Schema.optionalKey(Schema.Boolean),
  /** With a soft limit: how much overage there may be. Default: any. */
  overageMax: Schema.optionalKey(max)
}

/** What a plan allows of a meter. */
export type PlanLimit = typeof PlanLimit.Type
export const PlanLimit = Schema.Struct(limitFields)

/** A limit on overage that is refused anyway would be a mistake. */
const overageNeedsSoftLimit = Schema.makeFilter(({ isSoftLimit, overageMax }: PlanLimit) =>
  overageMax === undefined || isSoftLimit === true
    ? undefined
    : { path: ["overageMax"], issue: "needs isSoftLimit: true" }
)

/** A meter of a plan: how much may be used in a period, and a label to show. */
export const Meter = Schema.Struct({ label: Schema.optionalKey(MeterLabel), ...limitFields })
  .annotate({ identifier: "Meter", message: 'must be an object such as { "max": 1000 }' })
  .pipe(Schema.check(overageNeedsSoftLimit))

/** The meters of a plan, by name: 1 to 50. */
export const Meters = recordByShortName(Meter)
  .annotate({ message: 'must be an object such as { "requests": { "max": 1000 } }' })
  .pipe(Schema.check(Schema.isMinProperties(1), Schema.isMaxProperties(50)))
  .annotate({ identifier: "Meters" })
export type Meters = typeof Meters.Type

/** The rate limits of each subscription to the plan, by name. `{}` in an update removes all. */
export const RateLimits = recordByShortName(RateLimit)
  .annotate({ message: 'must be an object such as { "requests": { "limit": 10, "per": "second" } }' })
  .pipe(Schema.check(Schema.isMaxProperties(10)))
  .annotate({ identifier: "RateLimits" })
export type RateLimits = typeof RateLimits.Type

/** Like `Meters`, without the length limits of requests. */
const StoredMeters = Schema.Record(
  MeterName,
  Schema.Struct({ label: Schema.optionalKey(Schema.String), ...limitFields })
)

/** The fields that the caller sets. Everything else that has them is derived from here. */
const requiredInput = { label: ShortText, planExternalId: ShortText, meters: Meters }
const optionalInput = {
  rateLimits: RateLimits,
  features: Features,
  trialDays: Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 0, maximum: 3650 }))),
  trialEndStatus: Schema.Literals(["paused", "canceled"]),
  /** Stored for the caller; Tollgate does not use it. */
  isTrialCollectPayment: Schema.Boolean
}

const createFields = { ...requiredInput, ...optionalFields(optionalInput) }

/** The fields that Tollgate sets. */
const generatedFields = { id: PlanId, createdOn: Timestamp, updatedOn: Timestamp }

/** Also the periods of meters that the plan no longer has: one that returns must not start at 0. */
export const StoredPlan = Schema.Struct({
  ...generatedFields,
  ...createFields,
  meters: StoredMeters,
  formerPeriods: Schema.optionalKey(Schema.Record(MeterName, Schema.Literals([...PeriodKind.literals, "subscription"])))
})
export type StoredPlan = typeof StoredPlan.Type

/** A plan, and whether it has subscriptions. A plan with subscriptions cannot be deleted. */
export const Plan = Schema.Struct({ ...generatedFields, hasSubscriptions: Schema.Boolean, ...createFields }).annotate({
  identifier: "Plan"
})
export type Plan = typeof Plan.Type
/** A plan, as plain JSON. */
export type PlanJson = typeof Plan.Encoded

/** The input that creates a plan. `label`, `planExternalId` and `meters` are required. */
export const PlanCreate = Schema.Struct(createFields).annotate({ identifier: "PlanCreate" })
export type PlanCreate = typeof PlanCreate.Type

/** Plans of which two have the same `planExternalId` contradict each other. */
const noSameExternalIds = Schema.makeFilter((plans: ReadonlyArray<PlanCreate>) => {
  const ids = new Set<string>()
  const index = plans.findIndex(({ planExternalId }) => ids.size === ids.add(planExternalId).size)
  return index < 0 ? undefined : { path: [index, "planExternalId"], issue: "is that of an earlier plan in the list" }
})

const maxEnsuredPlans = 100

/** The input that creates or updates plans: 1 to 100, each with a `planExternalId` of its own. */
export const PlansEnsure = Schema.Struct({
  plans: Schema.Array(PlanCreate).pipe(
    Schema.check(Schema.isMinLength(1), Schema.isMaxLength(maxEnsuredPlans), noSameExternalIds)
  )
}).annotate({ identifier: "PlansEnsure" })

/** What was done so that a plan is as the list says. */
export const EnsuredPlan = Schema.Struct({
  outcome: Schema.Literals(["created", "updated", "unchanged"]),
  /** The names of the fields that an update has changed. */
  changedFields: Schema.Array(Schema.String),
  plan: Plan
}).annotate({ identifier: "EnsuredPlan" })
export type EnsuredPlan = typeof EnsuredPlan.Type

/** The plans of the list, in its order. */
export const EnsuredPlans = Schema.Struct({ data: Schema.Array(EnsuredPlan) }).annotate({ identifier: "EnsuredPlans" })
/** What was done with each plan of a list, as plain JSON. */
export type EnsuredPlansJson = typeof EnsuredPlans.Encoded

/** The input that changes a plan. A missing field stays unchanged; `null` removes a field of the trial. */
export const PlanUpdate = Schema.Struct({
  ...optionalFields(requiredInput),
  ...clearableFields(optionalInput),
  rateLimits: Schema.optionalKey(RateLimits),
  features: Schema.optionalKey(Features)
}).annotate({ identifier: "PlanUpdate" })
export type PlanUpdate = typeof PlanUpdate.Type
