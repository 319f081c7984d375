/**
 * What all operations of a service have in common: the store, a span, and the idempotency of the request.
 */
import { Effect, Schema } from "effect"
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { LimitReached } from "../runtime/LimitReached.ts"
import { withSafeSpan } from "../runtime/withSafeSpan.ts"
import { AllowedShare } from "../store/growth.ts"
import { CurrentIdempotency, makeInProcessIdempotency } from "../store/Idempotency.ts"
import { Store, type StoreOperations } from "../store/Store.ts"
import type { Operation, Operations } from "./Operations.ts"

type Implementation<E> =
  Operation<E> extends (request: infer Request) => Effect.Effect<infer A, infer Failure>
    ? (request: Request) => Effect.Effect<A, Failure, Store>
    : never

interface UntypedRequest {
  readonly params?: object
  readonly query?: unknown
  readonly headers?: { readonly idempotencyKey?: string | undefined }
  readonly payload?: unknown
}

/** The account in a body. Accounts may use the same idempotency key, also where the path does not name the account. */
const getAccountName = (payload: unknown): string =>
  typeof payload === "object" && payload !== null && "accountName" in payload ? String(payload.accountName) : ""

/**
 * The idempotency of a request that was made in process. A request over HTTP has one already, which depends on its
 * caller.
 */
export const withInProcessIdempotency = <A, E, R>(
  id: string,
  { params = {}, query, headers, payload }: UntypedRequest,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const key = headers?.idempotencyKey
  if (key === undefined) return effect
  const operation = [id, getAccountName(payload), ...Object.values(params).map(String)]
  return Effect.flatMap(CurrentIdempotency, (current) =>
    current === undefined
      ? Effect.provideService(effect, CurrentIdempotency, makeInProcessIdempotency(key, operation, [query, payload]))
      : effect
  )
}

/**
 * Updates may use a reserve of a tenth, so that a key can be disabled, or a subscription canceled, in an account that is
 * full. What only removes is never refused.
 */
const getAllowedShare = ({ method, error }: HttpApiEndpoint.Top): number => {
  const limitReached = new LimitReached({ limit: "recordBytesPerAccount", max: 0 })
  if (![...error].some((declared) => Schema.is(declared)(limitReached))) return Number.POSITIVE_INFINITY
  return method === "PATCH" ? 1.1 : 1
}

/** Completes the implementation of some or all operations of a group. */
export const implementOperations = <Group extends HttpApiGroup.Constraint, Ids extends keyof Group["endpoints"]>(
  group: Group,
  store: StoreOperations,
  implementations: { readonly [Id in Ids]: Implementation<Group["endpoints"][Id]> }
): Pick<Operations<Group>, Ids & keyof Operations<Group>> =>
  Object.fromEntries(
    Object.entries(implementations).map(([name, implementation]) => {
      const id = `${group.identifier}.${name}`
      const implement = implementation as (request: UntypedRequest) => Effect.Effect<unknown, unknown, Store>
      const allowedShare = getAllowedShare(group.endpoints[name] as HttpApiEndpoint.Top)
      const operation = (request: UntypedRequest) =>
        withInProcessIdempotency(id, request, implement(request)).pipe(
          Effect.provideService(Store, store),
          Effect.provideService(AllowedShare, allowedShare),
          withSafeSpan(`tollgate.${id}`)
        )
      return [name, operation]
    })
  ) as never
