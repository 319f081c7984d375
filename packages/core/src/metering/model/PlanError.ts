import { defineError } from "@tollgate/store/internal"
import { Schema } from "effect"

export class PlanNotFound extends defineError<PlanNotFound>()(
  "PlanNotFound",
  {
    code: "plan-not-found",
    status: 404,
    title: "Plan not found",
    meaning: "The metering bucket has no plan with this ID.",
    remedy: "Check the ID and the metering bucket. List the plans to find the ID by `planExternalId`.",
    detail: ({ planId }) => `Plan "${planId}" does not exist in this metering bucket`
  },
  { planId: Schema.String.annotate({ description: "The ID of the plan." }) }
) {}

export class PlanExternalIdTaken extends defineError<PlanExternalIdTaken>()(
  "PlanExternalIdTaken",
  {
    code: "plan-external-id-taken",
    status: 409,
    title: "planExternalId already in use",
    meaning: "Another plan of the metering bucket has this `planExternalId`.",
    remedy: "Choose another `planExternalId`, or update the existing plan.",
    detail: ({ planExternalId }) => `Another plan in this metering bucket has the planExternalId "${planExternalId}"`
  },
  { planExternalId: Schema.String.annotate({ description: "The requested `planExternalId`." }) }
) {}

export class PlanInUse extends defineError<PlanInUse>()(
  "PlanInUse",
  {
    code: "plan-in-use",
    status: 409,
    title: "Plan in use",
    meaning:
      "The plan has subscriptions, so it cannot be deleted, and the period of a meter cannot change. Canceled " +
      "subscriptions count.",
    remedy: "Delete the subscriptions of the plan or move them to another plan first.",
    detail: ({ planId }) =>
      `Plan "${planId}" has subscriptions, also canceled ones count. Remove them first. The period of a meter cannot change either.`
  },
  { planId: Schema.String.annotate({ description: "The ID of the plan." }) }
) {}

/** A subscription refers to a plan that is not in its bucket, or `planIds` and `planExternalIds` do not match. */
export class UnknownPlan extends defineError<UnknownPlan>()("UnknownPlan", {
  code: "unknown-plan",
  status: 422,
  title: "Plan references do not match",
  meaning:
    "The subscription refers to a plan that the metering bucket does not have, or `planIds` and `planExternalIds` " +
    "name different plans.",
  remedy:
    "Over HTTP, pass the same plans of this metering bucket in both. In process and in the client, one of the two suffices.",
  detail: () => "planIds and planExternalIds do not refer to the same plans of this metering bucket"
}) {}

/** A subscription would have plans that give one meter different periods. */
export class ConflictingPeriods extends defineError<ConflictingPeriods>()(
  "ConflictingPeriods",
  {
    code: "conflicting-periods",
    status: 422,
    title: "Conflicting periods",
    meaning: "The plans of the subscription give one meter different periods, so that their maxima cannot be added.",
    remedy: "Choose plans with the same period of the meter, or use another meter in one of them.",
    detail: ({ meter }) => `The plans give the meter "${meter}" different periods`
  },
  { meter: Schema.String.annotate({ description: "The name of the meter." }) }
) {}
