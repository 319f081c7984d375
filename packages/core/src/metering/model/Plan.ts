/**
 * A plan: the limit of each meter in a period, rate limits, and the settings of its trial.
 */
import { Schema } from "effect"
import { RateLimit } from "../../rateLimits/RateLimit.ts"
import { Id } from "../../schema/Id.ts"
import { MeterName, recordByShortName } from "../../schema/Names.ts"
import { clearableFields, optionalFields } from "../../schema/patch.ts"
import { isMaxCharacters, ShortText } from "../../schema/Text.ts"
import { Timestamp } from "../../schema/Timestamp.ts"

/** The id of a plan. It begins with `plan_`. */
export const PlanId = Id("plan").pipe(Schema.brand("PlanId"))
export type PlanId = typeof PlanId.Type

const max = Schema.Finite.pipe(Schema.check(Schema.isGreaterThanOrEqualTo(0)))

const MeterLabel = Schema.String.pipe(Schema.check(isMaxCharacters(256)))

/** A meter of a plan: how much may be used in a period, and a label to show. */
export const Meter = Schema.Struct({ label: Schema.optionalKey(MeterLabel), max }).annotate({
  identifier: "Meter",
  message: 'must be an object such as { "max": 1000 }'
})

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
const StoredMeters = Schema.Record(MeterName, Schema.Struct({ label: Schema.optionalKey(Schema.String), max }))

/** The fields that the caller sets. Everything else that has them is derived from here. */
const requiredInput = { label: ShortText, planExternalId: ShortText, meters: Meters }
const optionalInput = {
  rateLimits: RateLimits,
  trialDays: Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 0, maximum: 3650 }))),
  trialEndStatus: Schema.Literals(["paused", "canceled"]),
  /** Stored for the caller; Tollgate does not use it. */
  isTrialCollectPayment: Schema.Boolean
}

const createFields = { ...requiredInput, ...optionalFields(optionalInput) }

/** The fields that Tollgate sets. */
const generatedFields = { id: PlanId, createdOn: Timestamp, updatedOn: Timestamp }

export const StoredPlan = Schema.Struct({ ...generatedFields, ...createFields, meters: StoredMeters })
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

/** The input that changes a plan. A missing field stays unchanged; `null` removes a field of the trial. */
export const PlanUpdate = Schema.Struct({
  ...optionalFields(requiredInput),
  ...clearableFields(optionalInput),
  rateLimits: Schema.optionalKey(RateLimits)
}).annotate({ identifier: "PlanUpdate" })
export type PlanUpdate = typeof PlanUpdate.Type
