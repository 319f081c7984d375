/**
 * The plan of a customer, those that it can choose, and the choice.
 */
import { Customers, Plans, type Subscription } from "@tollgate/core/effect"
import { abortablePromise, implementOperations, omitUndefined, Store } from "@tollgate/core/module"
import { Effect } from "effect"
import { makeLimitChange } from "./customerChanges.ts"
import { makeFindCustomer } from "./customerUsage.ts"
import { PortalApi } from "./PortalApi.ts"
import { PlanChangeRefused, PlanNotOffered } from "./PortalError.ts"
import type { PortalPlans } from "./PortalPlan.ts"
import { isSafeTarget, type OfferedPlan, type PlanChangeRequest, type PortalOptions } from "./portalOptions.ts"

const isSame = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean =>
  one.length === other.length && one.every((id) => other.includes(id))

const ended: ReadonlyArray<(typeof Subscription.Type)["status"]> = ["canceled", "incomplete-expired"]

/** A mistake of the host, which the log tells, and not the customer. */
const rejectTarget = Effect.die(
  new Error("onPlanChange returned a url that is neither a path of this server nor an https URL")
)

export const makeCustomerPlans = (options: PortalOptions) =>
  Effect.gen(function* () {
    const store = yield* Store
    const customers = yield* Customers
    const plans = yield* Plans
    const findCustomer = yield* makeFindCustomer(options)
    const limitChange = makeLimitChange(store)
    const { plans: offers = [], onPlanChange } = options

    const findOffer = (planExternalIds: ReadonlyArray<string>): OfferedPlan | undefined =>
      offers.find((offer) => isSame(offer.planExternalIds, planExternalIds))

    /** The name of an offer, or the labels of the plans. */
    const toName = Effect.fnUntraced(function* (
      bucketId: string,
      planIds: ReadonlyArray<string>,
      planExternalIds: ReadonlyArray<string>
    ) {
      const offer = findOffer(planExternalIds)
      if (offer !== undefined) return offer.name
      const labels = yield* Effect.forEach(planIds, (planId) =>
        plans.get({ params: { bucketId, planId } }).pipe(
          Effect.map(({ value }) => [value.label]),
          Effect.catchTag("PlanNotFound", () => Effect.succeed([]))
        )
      )
      return labels.flat().join(" + ")
    })

    const toOffers = (current: OfferedPlan | undefined): PortalPlans["data"] =>
      offers.map((offer) => {
        const { name, price, description, link } = offer
        return omitUndefined({ name, price, description, link, isCurrent: offer === current || undefined })
      })

    const callHost = (change: PlanChangeRequest) =>
      abortablePromise(
        async () => onPlanChange?.(change),
        (error) => error
      ).pipe(Effect.orDie)

    return implementOperations(PortalApi, { store })({
      plans: Effect.fnUntraced(function* ({ params }) {
        const { bucketId, customerKey } = yield* findCustomer(params)
        const none: PortalPlans = { data: toOffers(undefined) }
        if (bucketId === undefined) return none
        const read = Effect.gen(function* () {
          const { subscriptions, pendingChange } = yield* customers.get({ params: { bucketId, customerKey } })
          const current = subscriptions.find(({ status }) => !ended.includes(status))
          if (current === undefined) return none
          const { planIds, planExternalIds, status, trialEndDate } = current
          const { planIds: nextIds, planExternalIds: nextExternalIds = [] } = pendingChange ?? {}
          const result: PortalPlans = {
            current: {
              name: yield* toName(bucketId, planIds, planExternalIds),
              status,
              ...omitUndefined({ trialEndsOn: status === "trialing" ? trialEndDate : undefined })
            },
            ...(pendingChange && {
              pending: {
                ...(nextIds === undefined
                  ? { isCanceled: true }
                  : { name: yield* toName(bucketId, nextIds, nextExternalIds) }),
                on: pendingChange.effectiveOn
              }
            }),
            data: toOffers(findOffer(planExternalIds))
          }
          return result
        })
        return yield* Effect.catchTag(read, "CustomerNotFound", () => Effect.succeed(none))
      }),

      changePlan: Effect.fnUntraced(function* ({ params, payload }) {
        const plan = offers.find(({ name }) => name === payload.plan)
        if (plan === undefined || onPlanChange === undefined) return yield* new PlanNotOffered()
        const { session, bucketId, customerKey } = yield* findCustomer(params)
        const { accountName, bucketName: keyBucketName, consumerName } = params
        const { url, refused } =
          (yield* limitChange(
            params,
            callHost({
              accountName,
              keyBucketName,
              consumerName,
              customerKey,
              plan,
              ...omitUndefined({ meteringBucketId: bucketId, name: session?.name })
            })
          )) ?? {}
        if (refused !== undefined) return yield* new PlanChangeRefused({ detail: refused })
        if (url !== undefined && !isSafeTarget(url)) return yield* rejectTarget
        return omitUndefined({ url })
      })
    })
  })
