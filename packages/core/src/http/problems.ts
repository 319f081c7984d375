/**
 * Every error of the services as a problem (RFC 9457): one stable type each, one status, one title. The one place
 * where errors become answers.
 */
import { Effect, Schema } from "effect"
import { HttpApiError } from "effect/http-api"
import type { Forbidden, Unauthorized } from "../access/Principal.ts"
import type { ConsumerNameTaken, ConsumerNotFound } from "../consumers/ConsumerError.ts"
import type { KeyLimitReached, KeyNotFound, KeyNotRetained, KeyValueTaken } from "../keys/KeyError.ts"
import type { IdempotencyKeyReused } from "../shared/Idempotency.ts"
import { type InvalidInput, InvalidPlace } from "../shared/InvalidInput.ts"
import type { VersionMismatch } from "../shared/VersionMismatch.ts"
import type { RecordUnreadable, StoreConflict, StoreUnavailable } from "../store/StoreError.ts"
import { RequestId } from "./RequestId.ts"

const kind = <const Name extends string, const Status extends number>(name: Name, status: Status, title: string) =>
  ({ type: `urn:tollgate:problem:${name}`, status, title }) as const

export class BadRequestProblem extends HttpApiError.Problem<BadRequestProblem>()(
  "BadRequestProblem",
  kind("bad-request", 400, "The request is not valid"),
  { errors: Schema.Array(InvalidPlace) }
) {}
export class UnauthorizedProblem extends HttpApiError.Problem<UnauthorizedProblem>()(
  "UnauthorizedProblem",
  kind("unauthorized", 401, "Not authenticated")
) {}
export class ForbiddenProblem extends HttpApiError.Problem<ForbiddenProblem>()(
  "ForbiddenProblem",
  kind("forbidden", 403, "Not allowed")
) {}
export class NotFoundProblem extends HttpApiError.Problem<NotFoundProblem>()(
  "NotFoundProblem",
  kind("not-found", 404, "No such path")
) {}
export class ConsumerNotFoundProblem extends HttpApiError.Problem<ConsumerNotFoundProblem>()(
  "ConsumerNotFoundProblem",
  kind("consumer-not-found", 404, "No such consumer")
) {}
export class KeyNotFoundProblem extends HttpApiError.Problem<KeyNotFoundProblem>()(
  "KeyNotFoundProblem",
  kind("key-not-found", 404, "No such key")
) {}
export class MethodNotAllowedProblem extends HttpApiError.Problem<MethodNotAllowedProblem>()(
  "MethodNotAllowedProblem",
  kind("method-not-allowed", 405, "No such method here")
) {}
export class ConsumerNameTakenProblem extends HttpApiError.Problem<ConsumerNameTakenProblem>()(
  "ConsumerNameTakenProblem",
  kind("consumer-name-taken", 409, "The name is taken")
) {}
export class KeyValueTakenProblem extends HttpApiError.Problem<KeyValueTakenProblem>()(
  "KeyValueTakenProblem",
  kind("key-value-taken", 409, "The key value is taken")
) {}
export class KeyLimitReachedProblem extends HttpApiError.Problem<KeyLimitReachedProblem>()(
  "KeyLimitReachedProblem",
  kind("key-limit-reached", 409, "Too many keys")
) {}
export class KeyNotRetainedProblem extends HttpApiError.Problem<KeyNotRetainedProblem>()(
  "KeyNotRetainedProblem",
  kind("key-not-retained", 409, "Key values are not kept")
) {}
export class ConcurrentUpdateProblem extends HttpApiError.Problem<ConcurrentUpdateProblem>()(
  "ConcurrentUpdateProblem",
  kind("concurrent-update", 409, "Others are writing the same")
) {}
export class RequestInProgressProblem extends HttpApiError.Problem<RequestInProgressProblem>()(
  "RequestInProgressProblem",
  kind("request-in-progress", 409, "The same request is still running")
) {}
export class PreconditionFailedProblem extends HttpApiError.Problem<PreconditionFailedProblem>()(
  "PreconditionFailedProblem",
  kind("precondition-failed", 412, "The resource has changed")
) {}
export class PayloadTooLargeProblem extends HttpApiError.Problem<PayloadTooLargeProblem>()(
  "PayloadTooLargeProblem",
  kind("payload-too-large", 413, "The body is too large")
) {}
export class UnsupportedEncodingProblem extends HttpApiError.Problem<UnsupportedEncodingProblem>()(
  "UnsupportedEncodingProblem",
  kind("unsupported-encoding", 415, "The body's encoding is not supported")
) {}
export class IdempotencyKeyReusedProblem extends HttpApiError.Problem<IdempotencyKeyReusedProblem>()(
  "IdempotencyKeyReusedProblem",
  kind("idempotency-key-reused", 422, "The Idempotency-Key was used before")
) {}
export class InternalProblem extends HttpApiError.Problem<InternalProblem>()(
  "InternalProblem",
  kind("internal", 500, "Something went wrong here")
) {}
export class StoreUnavailableProblem extends HttpApiError.Problem<StoreUnavailableProblem>()(
  "StoreUnavailableProblem",
  kind("store-unavailable", 503, "The store cannot be reached")
) {}

/** What everyone may be answered, whatever was asked. */
export const anywhere = [BadRequestProblem, InternalProblem, StoreUnavailableProblem, ConcurrentUpdateProblem] as const

/** What a request with a body may be answered beside. */
export const withBody = [PayloadTooLargeProblem, UnsupportedEncodingProblem] as const

interface Told {
  readonly detail: string
  readonly instance: string
}

const table = {
  InvalidInput: (told: Told, { errors }: InvalidInput) => new BadRequestProblem({ ...told, errors }),
  Unauthorized: (told: Told, _: Unauthorized) => new UnauthorizedProblem(told),
  Forbidden: (told: Told, _: Forbidden) => new ForbiddenProblem(told),
  ConsumerNotFound: (told: Told, _: ConsumerNotFound) => new ConsumerNotFoundProblem(told),
  ConsumerNameTaken: (told: Told, _: ConsumerNameTaken) => new ConsumerNameTakenProblem(told),
  KeyNotFound: (told: Told, _: KeyNotFound) => new KeyNotFoundProblem(told),
  KeyValueTaken: (told: Told, _: KeyValueTaken) => new KeyValueTakenProblem(told),
  KeyLimitReached: (told: Told, _: KeyLimitReached) => new KeyLimitReachedProblem(told),
  KeyNotRetained: (told: Told, _: KeyNotRetained) => new KeyNotRetainedProblem(told),
  VersionMismatch: (told: Told, _: VersionMismatch) => new PreconditionFailedProblem(told),
  IdempotencyKeyReused: (told: Told, _: IdempotencyKeyReused) => new IdempotencyKeyReusedProblem(told),
  // What the store says is for the log: these tell no more than what to do.
  StoreConflict: ({ instance }: Told, _: StoreConflict) =>
    new ConcurrentUpdateProblem({ instance, detail: "Others were faster every time; try again" }),
  StoreUnavailable: ({ instance }: Told, _: StoreUnavailable) =>
    new StoreUnavailableProblem({ instance, detail: "Nothing is lost; try again in a moment" }),
  RecordUnreadable: ({ instance }: Told, _: RecordUnreadable) =>
    new InternalProblem({ instance, detail: "A stored record cannot be read; the log says why" })
}
type Table = typeof table

export type Explainable = { [Tag in keyof Table]: Parameters<Table[Tag]>[1] }[keyof Table]
type ProblemOf<E> = E extends { readonly _tag: infer Tag extends keyof Table } ? ReturnType<Table[Tag]> : never

const isServersFault = (error: Explainable): boolean =>
  error._tag === "StoreUnavailable" || error._tag === "RecordUnreadable"

/** Turns a service's errors into problems that name the request; what is our own fault is logged. */
export const explained = <A, E extends Explainable, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, ProblemOf<E>, R> =>
  Effect.catch(effect, (error) =>
    Effect.gen(function* () {
      if (isServersFault(error)) yield* Effect.logError(error.message)
      const told = { detail: error.message, instance: yield* RequestId }
      const problem = table[error._tag] as (told: Told, error: Explainable) => ProblemOf<E>
      return yield* Effect.fail(problem(told, error))
    })
  )
