import { defineError } from "@tollgate/core/module"
import { Schema } from "effect"

export class PortalSessionNotFound extends defineError<PortalSessionNotFound>()(
  "PortalSessionNotFound",
  {
    code: "portal-session-not-found",
    status: 404,
    title: "Portal session not found",
    meaning: "The consumer has no portal session with this ID. It never existed, it was revoked, or it has ended.",
    remedy: "Check the ID and the consumer. List the sessions to find it.",
    detail: ({ sessionId }) => `Portal session "${sessionId}" does not exist`
  },
  { sessionId: Schema.String.annotate({ description: "The requested ID." }) }
) {}

/** A session of a disabled consumer would open nothing. */
export class ConsumerDisabled extends defineError<ConsumerDisabled>()("ConsumerDisabled", {
  code: "consumer-disabled",
  status: 409,
  title: "Consumer disabled",
  meaning: "The consumer is disabled, so its portal is closed.",
  remedy: "Enable the consumer with an update that sets `disabled` to `false`.",
  detail: () => "The consumer is disabled, so its portal is closed. Enable it first."
}) {}

/** The portal offers no plan of this name. */
export class PlanNotOffered extends defineError<PlanNotOffered>()("PlanNotOffered", {
  code: "plan-not-offered",
  status: 404,
  title: "Plan not offered",
  meaning: "The portal offers no plan with this name, or not to customers who change plans themselves.",
  remedy: "Use the `name` of a plan in the list. `onPlanChange` of the portal makes the change.",
  detail: () => "This plan is not offered. List the plans to see which are."
}) {}

/** The host did not change the plan. The detail is what it said. */
export class PlanChangeRefused extends defineError<PlanChangeRefused>()("PlanChangeRefused", {
  code: "plan-change-refused",
  status: 409,
  title: "Plan not changed",
  meaning: "The application refused to change the plan of the customer. `detail` is what it says.",
  remedy: "Do what `detail` says. It is what `onPlanChange` of the portal returned as `refused`.",
  detail: () => "The plan was not changed"
}) {}
