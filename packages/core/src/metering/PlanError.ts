import { Schema } from "effect"

export class PlanNotFound extends Schema.TaggedError<PlanNotFound>()("PlanNotFound", { planId: Schema.String }) {
  override get message(): string {
    return `Plan "${this.planId}" does not exist in this metering bucket`
  }
}

export class PlanExternalIdTaken extends Schema.TaggedError<PlanExternalIdTaken>()("PlanExternalIdTaken", {
  planExternalId: Schema.String
}) {
  override get message(): string {
    return `Another plan in this metering bucket has the planExternalId "${this.planExternalId}"`
  }
}

export class PlanInUse extends Schema.TaggedError<PlanInUse>()("PlanInUse", { planId: Schema.String }) {
  override get message(): string {
    return `Plan "${this.planId}" has subscriptions. Remove them first, including canceled ones.`
  }
}

/** A subscription refers to a plan that is not in its bucket, or `planIds` and `planExternalIds` do not match. */
export class UnknownPlan extends Schema.TaggedError<UnknownPlan>()("UnknownPlan", { problem: Schema.String }) {
  override get message(): string {
    return this.problem
  }
}
