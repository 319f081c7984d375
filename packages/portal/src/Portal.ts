/**
 * What customers see and do in their portal.
 */
import { findConsumer, implementOperations, type Operations, omitUndefined, Store } from "@tollgate/core/module"
import { Context, Effect, Layer, Schema } from "effect"
import { defaultMaxKeys, makeCustomerKeys } from "./customerKeys.ts"
import { makeCustomerPlans } from "./customerPlans.ts"
import { makeCustomerUsage } from "./customerUsage.ts"
import { PortalApi, type PortalMethods } from "./PortalApi.ts"
import { PortalAllow } from "./PortalSession.ts"
import { PortalSessions } from "./PortalSessions.ts"
import type { PortalOptions } from "./portalOptions.ts"

const isAllow = Schema.is(PortalAllow)

const makeHome = ({ maxKeys = defaultMaxKeys, meteringBucket, onPlanChange }: PortalOptions) =>
  Effect.gen(function* () {
    const store = yield* Store
    const sessions = yield* PortalSessions
    return implementOperations(PortalApi, { store })({
      home: Effect.fnUntraced(function* ({ params }) {
        const { value: consumer } = yield* findConsumer(params, params.consumerName)
        const {
          name,
          allow = PortalAllow.literals,
          returnUrl,
          expiresOn,
          meteringBucketId
        } = (yield* sessions.current) ?? {}
        return {
          consumerName: consumer.name,
          allow: allow.filter(isAllow),
          ...omitUndefined({ name, returnUrl, expiresOn }),
          maxKeys,
          hasUsage: (meteringBucketId ?? meteringBucket) !== undefined,
          canChangePlan: onPlanChange !== undefined
        }
      })
    })
  })

const make = (options: PortalOptions) =>
  Effect.gen(function* () {
    const parts = [
      yield* makeHome(options),
      yield* makeCustomerKeys(options),
      yield* makeCustomerUsage(options),
      yield* makeCustomerPlans(options)
    ] as const
    const [home, keys, usage, plans] = parts
    return Portal.of({ ...home, ...keys, ...usage, ...plans })
  })

/** The operations of the portal. Each takes one `OperationRequest`. */
export class Portal extends Context.Service<Portal, Operations<typeof PortalApi, PortalMethods>>()(
  "@tollgate/portal/Portal"
) {
  static readonly layer = (options: PortalOptions) => Layer.effect(Portal, make(options))
}
