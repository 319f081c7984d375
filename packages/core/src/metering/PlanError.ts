import { Schema } from "effect"
import { defineError } from "../errors/defineError.ts"

export class PlanNotFound extends defineError<PlanNotFound>()(
  "PlanNotFound",
  {
    code: "plan-not-found",
    status: 404,
    title: "Plan not found",
    detail: ({ planId }) => `Plan "${planId}" does not exist in this metering bucket`
  },
  { planId: Schema.String }
) {}

export class PlanExternalIdTaken extends defineError<PlanExternalIdTaken>()(
  "PlanExternalIdTaken",
  {
    code: "plan-external-id-taken",
    status: 409,
    title: "planExternalId already in use",
    detail: ({ planExternalId }) => `Another plan in this metering bucket has the planExternalId "${planExternalId}"`
  },
  { planExternalId: Schema.String }
) {}

export class PlanInUse extends defineError<PlanInUse>()(
  "PlanInUse",
  {
    code: "plan-in-use",
    status: 409,
    title: "Plan in use",
    detail: ({ planId }) => `Plan "${planId}" has subscriptions. Remove them first, including canceled ones.`
  },
  { planId: Schema.String }
) {}

/** A subscription refers to a plan that is not in its bucket, or `planIds` and `planExternalIds` do not match. */
export class UnknownPlan extends defineError<UnknownPlan>()("UnknownPlan", {
  code: "unknown-plan",
  status: 422,
  title: "Plan references do not match",
  detail: () => "planIds and planExternalIds do not refer to the same plans of this metering bucket"
}) {}
