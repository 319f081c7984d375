/**
 * A plan: the limit of each meter in a period, and the settings of its trial.
 */
import { Schema } from "effect"
import { Id } from "../schema/Id.ts"
import { LongText, ShortText } from "../schema/Text.ts"
import { Timestamp } from "../schema/Timestamp.ts"

export const PlanId = Id("plan").pipe(Schema.brand("PlanId"))
export type PlanId = typeof PlanId.Type

export const MeterName = Schema.String.pipe(Schema.check(Schema.isPattern(/^[A-Za-z0-9_.-]{1,64}$/u)))

const max = Schema.Finite.pipe(Schema.check(Schema.isGreaterThanOrEqualTo(0)))

export const Meter = Schema.Struct({ label: Schema.optionalKey(LongText), max }).annotate({ identifier: "Meter" })

export const Meters = Schema.Record(MeterName, Meter)
  .pipe(Schema.check(Schema.isMinProperties(1), Schema.isMaxProperties(50)))
  .annotate({ identifier: "Meters" })
export type Meters = typeof Meters.Type

/** Like `Meters`, without the length limits of requests. */
const StoredMeters = Schema.Record(MeterName, Schema.Struct({ label: Schema.optionalKey(Schema.String), max }))

/** The fields that the caller sets. */
const inputFields = {
  label: ShortText,
  planExternalId: ShortText,
  meters: Meters,
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
