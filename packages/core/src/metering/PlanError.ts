import { Schema } from "effect"

export class PlanNotFound extends Schema.TaggedError<PlanNotFound>()("PlanNotFound", { planId: Schema.String }) {
  override get message(): string {
    return `There is no plan "${this.planId}" in this bucket`
  }
}

export class PlanExternalIdTaken extends Schema.TaggedError<PlanExternalIdTaken>()("PlanExternalIdTaken", {
  planExternalId: Schema.String
}) {
  override get message(): string {
    return `Another plan of this bucket has the planExternalId "${this.planExternalId}"`
  }
}

export class PlanInUse extends Schema.TaggedError<PlanInUse>()("PlanInUse", { planId: Schema.String }) {
  override get message(): string {
    return `The plan "${this.planId}" has subscriptions; remove them first, canceled ones too`
  }
}

/** A subscription names plans that are not in its bucket, or two lists that do not name the same plans. */
export class UnknownPlan extends Schema.TaggedError<UnknownPlan>()("UnknownPlan", { problem: Schema.String }) {
  override get message(): string {
    return this.problem
  }
}
