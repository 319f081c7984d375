/**
 * A plan: the limit of each meter in a period, rate limits, and the settings of its trial.
 */
import { Schema } from "effect"
import { RateLimit } from "../rateLimits/RateLimit.ts"
import { Id } from "../schema/Id.ts"
import { MeterName, RateLimitName } from "../schema/Names.ts"
import { LongText, ShortText } from "../schema/Text.ts"
import { Timestamp } from "../schema/Timestamp.ts"

export const PlanId = Id("plan").pipe(Schema.brand("PlanId"))
export type PlanId = typeof PlanId.Type

const max = Schema.Finite.pipe(Schema.check(Schema.isGreaterThanOrEqualTo(0)))

export const Meter = Schema.Struct({ label: Schema.optionalKey(LongText), max }).annotate({ identifier: "Meter" })

export const Meters = Schema.Record(MeterName, Meter)
  .pipe(Schema.check(Schema.isMinProperties(1), Schema.isMaxProperties(50)))
  .annotate({ identifier: "Meters" })
export type Meters = typeof Meters.Type

/** The rate limits of each subscription to the plan, by name. `{}` in an update removes all. */
export const RateLimits = Schema.Record(RateLimitName, RateLimit)
  .pipe(Schema.check(Schema.isMaxProperties(10)))
  .annotate({ identifier: "RateLimits" })
export type RateLimits = typeof RateLimits.Type

/** Like `Meters`, without the length limits of requests. */
const StoredMeters = Schema.Record(MeterName, Schema.Struct({ label: Schema.optionalKey(Schema.String), max }))

/** The fields that the caller sets. */
const inputFields = {
  label: ShortText,
  planExternalId: ShortText,
  meters: Meters,
  rateLimits: Schema.optionalKey(RateLimits),
  trialDays: Schema.optionalKey(Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 0, maximum: 3650 })))),
  trialEndStatus: Schema.optionalKey(Schema.Literals(["paused", "canceled"])),
  /** Stored for the caller; Tollgate does not use it. */
  isTrialCollectPayment: Schema.optionalKey(Schema.Boolean)
}

/** The fields that Tollgate sets. */
const generatedFields = { id: PlanId, createdOn: Timestamp, updatedOn: Timestamp }

export const StoredPlan = Schema.Struct({ ...generatedFields, ...inputFields, meters: StoredMeters })
export type StoredPlan = typeof StoredPlan.Type

export const Plan = Schema.Struct({ ...generatedFields, hasSubscriptions: Schema.Boolean, ...inputFields }).annotate({
  identifier: "Plan"
})
export type Plan = typeof Plan.Type
/** As plain JSON, as the promise API returns it. */
export type PlanJson = typeof Plan.Encoded

export const PlanCreate = Schema.Struct(inputFields).annotate({ identifier: "PlanCreate" })
export type PlanCreate = typeof PlanCreate.Type

export const PlanUpdate = Schema.Struct({
  ...inputFields,
  label: Schema.optionalKey(inputFields.label),
  planExternalId: Schema.optionalKey(inputFields.planExternalId),
  meters: Schema.optionalKey(inputFields.meters)
}).annotate({ identifier: "PlanUpdate" })
export type PlanUpdate = typeof PlanUpdate.Type
