/**
 * What all operations of a service have in common: the store, a span, and the idempotency of the request.
 */

import {
  AllowedShare,
  CurrentIdempotency,
  type Idempotency,
  makeInProcessIdempotency,
  makeResultCodec,
  makeRunOnce,
  type Once,
  type Replayed,
  type ResultCodec,
  type SecretBox,
  Store,
  type StoreOperations,
  withSafeSpan
} from "@tollgate/store/internal"
import { Effect, Schema } from "effect"
import { type HttpApiEndpoint, type HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { limitReached } from "../accounts/limits/LimitReached.ts"
import { getBody } from "./describeOperations.ts"
import type { Operation, Operations } from "./Operations.ts"

/** Without a `SecretBox`, there is no `once`. */
type Implementation<E, S extends Services> =
  Operation<E> extends (request: infer Request) => Effect.Effect<infer A, infer Failure>
    ? (
        request: Request,
        once: S extends Required<Services> ? Once<A> : never
      ) => Effect.Effect<A, Failure | Replayed, Store>
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

/** The idempotency of a request. A request over HTTP has one already, which depends on its caller. */
const getIdempotency = (
  id: string,
  { params = {}, query, headers, payload }: UntypedRequest,
  current: Idempotency | undefined
): Idempotency | undefined => {
  const key = headers?.idempotencyKey
  if (key === undefined || current !== undefined) return current
  const operation = [id, getAccountName(payload), ...Object.values(params).map(String)]
  return makeInProcessIdempotency(key, operation, [query, payload])
}

/** Makes the function that runs the operation of a request, once if it has an idempotency key. */
export const makeRunRequest = (store: StoreOperations, secretBox: SecretBox["Service"]) => {
  const runOnce = makeRunOnce(store, secretBox)
  return <A, E, R>(
    id: string,
    request: UntypedRequest,
    operation: (once: Once<A>) => Effect.Effect<A, E | Replayed, R>,
    bodyCodec?: ResultCodec<unknown>
  ) =>
    Effect.flatMap(CurrentIdempotency, (current) => runOnce(getIdempotency(id, request, current), operation, bodyCodec))
}

/** What is stored of the result of an operation. */
const makeBodyCodec = ({ success }: HttpApiEndpoint.Top): ResultCodec<unknown> | undefined => {
  const body = [...success].map(getBody).find(({ ast }) => !HttpApiSchema.isNoContent(ast))
  return body && makeResultCodec(body as Schema.Codec<unknown, unknown>)
}

/**
 * Updates may use a reserve of a tenth, so that a key can be disabled, or a subscription canceled, in an account that is
 * full. What only removes is never refused.
 */
const getAllowedShare = ({ method, error }: HttpApiEndpoint.Top): number => {
  const sample = limitReached("recordBytesPerAccount", 0)
  if (![...error].some((declared) => Schema.is(declared)(sample))) return Number.POSITIVE_INFINITY
  return method === "PATCH" ? 1.1 : 1
}

interface Services {
  readonly store: StoreOperations
  /** Encrypts the results of operations that accept an idempotency key. */
  readonly secretBox?: SecretBox["Service"]
}

type UntypedImplementation = (request: UntypedRequest, once?: Once<unknown>) => Effect.Effect<unknown, unknown, Store>

/** Completes the implementation of some or all operations of a group. */
export const implementOperations = <Group extends HttpApiGroup.Constraint, S extends Services>(
  group: Group,
  { store, secretBox }: S
) => {
  const runRequest = secretBox && makeRunRequest(store, secretBox)
  return <Ids extends keyof Group["endpoints"]>(
    implementations: {
      readonly [Id in Ids]: Implementation<Group["endpoints"][Id], S>
    }
  ): Pick<Operations<Group>, Ids & keyof Operations<Group>> =>
    Object.fromEntries(
      Object.entries(implementations).map(([name, implementation]) => {
        const id = `${group.identifier}.${name}`
        const endpoint = group.endpoints[name] as HttpApiEndpoint.Top
        const implement = implementation as UntypedImplementation
        const bodyCodec = makeBodyCodec(endpoint)
        const allowedShare = getAllowedShare(endpoint)
        const operation = (request: UntypedRequest) =>
          (runRequest?.(id, request, (once) => implement(request, once), bodyCodec) ?? implement(request)).pipe(
            Effect.provideService(Store, store),
            Effect.provideService(AllowedShare, allowedShare),
            withSafeSpan(`tollgate.${id}`)
          )
        return [name, operation]
      })
    ) as never
}
