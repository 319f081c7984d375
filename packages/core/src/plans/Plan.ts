/**
 * A plan: which meters it allows how much of in a period, and how a trial of it ends.
 */
import { Schema } from "effect"
import { Id } from "../shared/Id.ts"
import { LongText, ShortText } from "../shared/Text.ts"
import { Timestamp } from "../shared/Timestamp.ts"

export const PlanId = Id("plan").pipe(Schema.brand("PlanId"))
export type PlanId = typeof PlanId.Type

export const MeterName = Schema.String.pipe(Schema.check(Schema.isPattern(/^[A-Za-z0-9_.-]{1,64}$/u)))

const max = Schema.Finite.pipe(Schema.check(Schema.isGreaterThanOrEqualTo(0)))

export const Meter = Schema.Struct({ label: Schema.optionalKey(LongText), max }).annotate({ identifier: "Meter" })

export const Meters = Schema.Record(MeterName, Meter)
  .pipe(Schema.check(Schema.isMinProperties(1), Schema.isMaxProperties(50)))
  .annotate({ identifier: "Meters" })
export type Meters = typeof Meters.Type

const StoredMeters = Schema.Record(MeterName, Schema.Struct({ label: Schema.optionalKey(Schema.String), max }))

const given = {
  label: ShortText,
  planExternalId: ShortText,
  meters: Meters,
  trialDays: Schema.optionalKey(Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 0, maximum: 3650 })))),
  trialEndStatus: Schema.optionalKey(Schema.Literals(["paused", "canceled"])),
  isTrialCollectPayment: Schema.optionalKey(Schema.Boolean)
}

const made = { id: PlanId, createdOn: Timestamp, updatedOn: Timestamp }

export const StoredPlan = Schema.Struct({ ...made, ...given, meters: StoredMeters })
export type StoredPlan = typeof StoredPlan.Type

export const Plan = Schema.Struct({ ...made, hasSubscriptions: Schema.Boolean, ...given }).annotate({
  identifier: "Plan"
})
export type Plan = typeof Plan.Type

export const PlanCreate = Schema.Struct(given).annotate({ identifier: "PlanCreate" })
export type PlanCreate = typeof PlanCreate.Type

export const PlanUpdate = Schema.Struct({
  ...given,
  label: Schema.optionalKey(given.label),
  planExternalId: Schema.optionalKey(given.planExternalId),
  meters: Schema.optionalKey(given.meters)
}).annotate({ identifier: "PlanUpdate" })
export type PlanUpdate = typeof PlanUpdate.Type
