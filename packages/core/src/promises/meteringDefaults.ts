/**
 * Defaults of plans and subscriptions for callers in process and in a client. Over HTTP all fields stay required.
 */

import { InvalidInput } from "@tollgate/store/internal"
import type { IdempotentCallOptions } from "../api/Methods.ts"
import { UnknownPlan } from "../metering/model/PlanError.ts"
import { subscriptionDefaults } from "../metering/model/Subscription.ts"
import type { PlanCreateInput, PlansMethods } from "../metering/plans/PlansApi.ts"
import type { SubscriptionCreateInput } from "../metering/subscriptions/SubscriptionsApi.ts"

/** Uses the label as `planExternalId`, and the other way round. */
export const addPlanDefaults = (input: PlanCreateInput) => {
  const label = input?.label ?? input?.planExternalId
  const planExternalId = input?.planExternalId ?? input?.label
  return { ...input, label, planExternalId } as Required<Pick<PlanCreateInput, "label" | "planExternalId">> &
    PlanCreateInput
}

/** Completes `planIds` by `planExternalIds`, or the other way round. */
const completePlans = async (
  plans: Pick<PlansMethods, "list">,
  { planIds, planExternalIds }: Partial<SubscriptionCreateInput>,
  signal: AbortSignal | undefined
) => {
  if (planIds !== undefined && planExternalIds !== undefined) return { planIds, planExternalIds }
  const ids = planIds ?? planExternalIds
  if (!Array.isArray(ids)) {
    throw new InvalidInput({ errors: [{ pointer: "/planIds", detail: "planIds or planExternalIds is required" }] })
  }
  const idField = planIds === undefined ? "planExternalId" : "id"
  const plansById = new Map<string, { readonly id: string; readonly planExternalId: string }>()
  for await (const plan of plans.list({ signal })) {
    if (ids.includes(plan[idField])) plansById.set(plan[idField], plan)
    if (plansById.size === ids.length) break
  }
  const orderedPlans = ids.map((id: unknown) => {
    const plan = plansById.get(String(id))
    if (plan === undefined)
      throw new UnknownPlan({ detail: `No plan in this metering bucket has the ${idField} "${String(id)}"` })
    return plan
  })
  return {
    planIds: orderedPlans.map(({ id }) => id),
    planExternalIds: orderedPlans.map(({ planExternalId }) => planExternalId)
  }
}

/** With an idempotency key, a retry has the same id: otherwise it would count as a different request. */
const makeSubscriptionExternalId = (customerKey: string, idempotencyKey: string | undefined): string =>
  idempotencyKey === undefined ? crypto.randomUUID() : `${idempotencyKey}:${customerKey}`.slice(0, 256)

export const addSubscriptionDefaults = async (
  plans: Pick<PlansMethods, "list">,
  input: SubscriptionCreateInput,
  { idempotencyKey }: Pick<IdempotentCallOptions, "idempotencyKey">,
  signal: AbortSignal | undefined
) => {
  const fields: Partial<SubscriptionCreateInput> = input ?? {}
  // Of another type, it is rejected when the body is decoded.
  const customerKey = typeof fields.customerKey === "string" ? fields.customerKey : ""
  return {
    ...input,
    ...(await completePlans(plans, fields, signal)),
    status: fields.status ?? subscriptionDefaults.status,
    type: fields.type ?? subscriptionDefaults.type,
    renewalStrategy: fields.renewalStrategy ?? subscriptionDefaults.renewalStrategy,
    region: fields.region ?? subscriptionDefaults.region,
    customerExternalId: fields.customerExternalId ?? customerKey,
    subscriptionExternalId: fields.subscriptionExternalId ?? makeSubscriptionExternalId(customerKey, idempotencyKey)
  }
}
