/**
 * Every error of the services as a problem (RFC 9457): one stable type each, one status, one title. The one place
 * where errors become answers.
 */
import { DateTime, Effect, Schema } from "effect"
import { HttpServerRespondable } from "effect/http"
import { HttpApiError } from "effect/http-api"
import type { Forbidden, Unauthorized } from "../access/Principal.ts"
import type { ConsumerNameTaken, ConsumerNotFound } from "../consumers/ConsumerError.ts"
import type {
  AlreadyUploaded,
  DeploymentNotFound,
  DeploymentsNotConfigured,
  SourceFault,
  SourceTooLarge,
  StatusNotFound,
  UploadForbidden,
  UploadInProgress,
  UploadInterrupted,
  UploadStalled
} from "../deployments/DeploymentError.ts"
import type { KeyLimitReached, KeyNotFound, KeyNotRetained, KeyValueTaken } from "../keys/KeyError.ts"
import type { BucketNotFound } from "../metering/Bucket.ts"
import type { QuotaExceeded, SubscriptionNotActive, UnknownMeter } from "../metering/Quota.ts"
import type { PlanExternalIdTaken, PlanInUse, PlanNotFound, UnknownPlan } from "../plans/PlanError.ts"
import type { AnswerForgotten, IdempotencyKeyReused } from "../shared/Idempotency.ts"
import { type InvalidInput, InvalidPlace } from "../shared/InvalidInput.ts"
import { type LimitReached, limitNames } from "../shared/Limits.ts"
import { Timestamp } from "../shared/Timestamp.ts"
import type { VersionMismatch } from "../shared/VersionMismatch.ts"
import type { RecordUnreadable, StoreConflict, StoreUnavailable } from "../store/StoreError.ts"
import type { SubscriptionExternalIdTaken, SubscriptionNotFound } from "../subscriptions/SubscriptionError.ts"
import type { Answer } from "./Exchange.ts"
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
export class RequestTimeoutProblem extends HttpApiError.Problem<RequestTimeoutProblem>()(
  "RequestTimeoutProblem",
  kind("request-timeout", 408, "The body did not arrive")
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
export class LimitReachedProblem extends HttpApiError.Problem<LimitReachedProblem>()(
  "LimitReachedProblem",
  kind("limit-reached", 409, "Limit reached"),
  { limit: Schema.Literals(limitNames), max: Schema.Int }
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
export class AnswerForgottenProblem extends HttpApiError.Problem<AnswerForgottenProblem>()(
  "AnswerForgottenProblem",
  kind("answer-forgotten", 409, "The request was done, and its answer is gone")
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
export class BucketNotFoundProblem extends HttpApiError.Problem<BucketNotFoundProblem>()(
  "BucketNotFoundProblem",
  kind("bucket-not-found", 404, "No such metering bucket")
) {}
export class PlanNotFoundProblem extends HttpApiError.Problem<PlanNotFoundProblem>()(
  "PlanNotFoundProblem",
  kind("plan-not-found", 404, "No such plan")
) {}
export class SubscriptionNotFoundProblem extends HttpApiError.Problem<SubscriptionNotFoundProblem>()(
  "SubscriptionNotFoundProblem",
  kind("subscription-not-found", 404, "No such subscription")
) {}
export class PlanExternalIdTakenProblem extends HttpApiError.Problem<PlanExternalIdTakenProblem>()(
  "PlanExternalIdTakenProblem",
  kind("plan-external-id-taken", 409, "The planExternalId is taken")
) {}
export class PlanInUseProblem extends HttpApiError.Problem<PlanInUseProblem>()(
  "PlanInUseProblem",
  kind("plan-in-use", 409, "The plan is in use")
) {}
export class SubscriptionExternalIdTakenProblem extends HttpApiError.Problem<SubscriptionExternalIdTakenProblem>()(
  "SubscriptionExternalIdTakenProblem",
  kind("subscription-external-id-taken", 409, "The subscriptionExternalId is taken")
) {}
export class UnknownPlanProblem extends HttpApiError.Problem<UnknownPlanProblem>()(
  "UnknownPlanProblem",
  kind("unknown-plan", 422, "The plans do not fit")
) {}
export class UnknownMeterProblem extends HttpApiError.Problem<UnknownMeterProblem>()(
  "UnknownMeterProblem",
  kind("unknown-meter", 422, "No plan has that meter")
) {}
export class SubscriptionNotActiveProblem extends HttpApiError.Problem<SubscriptionNotActiveProblem>()(
  "SubscriptionNotActiveProblem",
  kind("subscription-not-active", 403, "The subscription is not active")
) {}
export class QuotaExceededProblem extends HttpApiError.Problem<QuotaExceededProblem>()(
  "QuotaExceededProblem",
  kind("quota-exceeded", 429, "The quota is used up"),
  { meter: Schema.String, max: Schema.Finite, resetsOn: Timestamp }
) {}
export class DeploymentNotFoundProblem extends HttpApiError.Problem<DeploymentNotFoundProblem>()(
  "DeploymentNotFoundProblem",
  kind("deployment-not-found", 404, "No such deployment")
) {}
export class StatusNotFoundProblem extends HttpApiError.Problem<StatusNotFoundProblem>()(
  "StatusNotFoundProblem",
  kind("status-not-found", 404, "No such deployment status")
) {}
export class UploadInProgressProblem extends HttpApiError.Problem<UploadInProgressProblem>()(
  "UploadInProgressProblem",
  kind("upload-in-progress", 409, "An upload is in progress")
) {}
export class UploadForbiddenProblem extends HttpApiError.Problem<UploadForbiddenProblem>()(
  "UploadForbiddenProblem",
  kind("upload-forbidden", 403, "The upload address is not valid")
) {}
export class AlreadyUploadedProblem extends HttpApiError.Problem<AlreadyUploadedProblem>()(
  "AlreadyUploadedProblem",
  kind("already-uploaded", 409, "The upload address has been used")
) {}
export class DeploymentsNotConfiguredProblem extends HttpApiError.Problem<DeploymentsNotConfiguredProblem>()(
  "DeploymentsNotConfiguredProblem",
  kind("deployments-not-configured", 501, "Deployments are not set up here")
) {}
export class SourceUnavailableProblem extends HttpApiError.Problem<SourceUnavailableProblem>()(
  "SourceUnavailableProblem",
  kind("source-unavailable", 503, "Sources cannot be kept now")
) {}
export class InternalProblem extends HttpApiError.Problem<InternalProblem>()(
  "InternalProblem",
  kind("internal", 500, "Something went wrong here")
) {}
export class StoreUnavailableProblem extends HttpApiError.Problem<StoreUnavailableProblem>()(
  "StoreUnavailableProblem",
  kind("store-unavailable", 503, "The store cannot be reached"),
  { outcome: Schema.Literals(["not-applied", "unknown"]) }
) {}

/** What everyone may be answered, whatever was asked. */
export const anywhere = [BadRequestProblem, InternalProblem, StoreUnavailableProblem, ConcurrentUpdateProblem] as const

/** What a request that makes something may be answered beside. */
export const makingOnce = [IdempotencyKeyReusedProblem, RequestInProgressProblem, AnswerForgottenProblem] as const

/** What a request with a body may be answered beside. */
export const withBody = [RequestTimeoutProblem, PayloadTooLargeProblem, UnsupportedEncodingProblem] as const

/** What a caller can do about a store that did not answer. */
export const unavailableDetail: Readonly<Record<StoreUnavailable["outcome"], string>> = {
  "not-applied": "Nothing was changed. Try again in a moment.",
  unknown:
    "The request may or may not have been applied. Repeat it with the same Idempotency-Key, which applies it once; " +
    "without one, read the resource before you try again."
}

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
  LimitReached: (told: Told, { limit, max }: LimitReached) => new LimitReachedProblem({ ...told, limit, max }),
  KeyNotRetained: (told: Told, _: KeyNotRetained) => new KeyNotRetainedProblem(told),
  VersionMismatch: (told: Told, _: VersionMismatch) => new PreconditionFailedProblem(told),
  IdempotencyKeyReused: (told: Told, _: IdempotencyKeyReused) => new IdempotencyKeyReusedProblem(told),
  BucketNotFound: (told: Told, _: BucketNotFound) => new BucketNotFoundProblem(told),
  PlanNotFound: (told: Told, _: PlanNotFound) => new PlanNotFoundProblem(told),
  SubscriptionNotFound: (told: Told, _: SubscriptionNotFound) => new SubscriptionNotFoundProblem(told),
  PlanExternalIdTaken: (told: Told, _: PlanExternalIdTaken) => new PlanExternalIdTakenProblem(told),
  PlanInUse: (told: Told, _: PlanInUse) => new PlanInUseProblem(told),
  SubscriptionExternalIdTaken: (told: Told, _: SubscriptionExternalIdTaken) =>
    new SubscriptionExternalIdTakenProblem(told),
  UnknownPlan: (told: Told, _: UnknownPlan) => new UnknownPlanProblem(told),
  UnknownMeter: (told: Told, _: UnknownMeter) => new UnknownMeterProblem(told),
  SubscriptionNotActive: (told: Told, _: SubscriptionNotActive) => new SubscriptionNotActiveProblem(told),
  QuotaExceeded: (told: Told, { meter, max, resetsOn }: QuotaExceeded) =>
    new QuotaExceededProblem({ ...told, meter, max, resetsOn }),
  DeploymentNotFound: (told: Told, _: DeploymentNotFound) => new DeploymentNotFoundProblem(told),
  StatusNotFound: (told: Told, _: StatusNotFound) => new StatusNotFoundProblem(told),
  UploadInProgress: (told: Told, _: UploadInProgress) => new UploadInProgressProblem(told),
  UploadForbidden: (told: Told, _: UploadForbidden) => new UploadForbiddenProblem(told),
  AlreadyUploaded: (told: Told, _: AlreadyUploaded) => new AlreadyUploadedProblem(told),
  SourceTooLarge: (told: Told, _: SourceTooLarge) => new PayloadTooLargeProblem(told),
  UploadStalled: (told: Told, _: UploadStalled) => new RequestTimeoutProblem(told),
  UploadInterrupted: (told: Told, { problem }: UploadInterrupted) =>
    new BadRequestProblem({ ...told, errors: [{ pointer: "", detail: problem }] }),
  DeploymentsNotConfigured: (told: Told, _: DeploymentsNotConfigured) => new DeploymentsNotConfiguredProblem(told),
  SourceFault: ({ instance }: Told, _: SourceFault) =>
    new SourceUnavailableProblem({ instance, detail: "Nothing is kept, and the address is still good; try again" }),
  AnswerForgotten: (told: Told, _: AnswerForgotten) => new AnswerForgottenProblem(told),
  // What the store says is for the log: these tell no more than what to do.
  StoreConflict: ({ instance }: Told, _: StoreConflict) =>
    new ConcurrentUpdateProblem({ instance, detail: "Others were faster every time; try again" }),
  StoreUnavailable: ({ instance }: Told, { outcome }: StoreUnavailable) =>
    new StoreUnavailableProblem({ instance, outcome, detail: unavailableDetail[outcome] }),
  RecordUnreadable: ({ instance }: Told, _: RecordUnreadable) =>
    new InternalProblem({ instance, detail: "A stored record cannot be read; the log says why" })
}
type Table = typeof table

export type Explainable = { [Tag in keyof Table]: Parameters<Table[Tag]>[1] }[keyof Table]
type ProblemOf<E> = E extends { readonly _tag: infer Tag extends keyof Table } ? ReturnType<Table[Tag]> : never

const isServersFault = (error: Explainable): boolean =>
  error._tag === "StoreUnavailable" || error._tag === "RecordUnreadable" || error._tag === "SourceFault"

/** What the disk said. What a store said stays out of the log: it may quote what is stored. */
const causeOf = (error: Explainable): ReadonlyArray<string> =>
  error._tag === "SourceFault" && error.cause instanceof Error ? [error.cause.message] : []

/** Turns a service's errors into problems that name the request; what is our own fault is logged. */
export const explained = <A, E extends Explainable, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, ProblemOf<E>, R> =>
  Effect.catch(effect, (error) =>
    Effect.gen(function* () {
      if (isServersFault(error)) yield* Effect.logError(error.message, ...causeOf(error))
      const told = { detail: error.message, instance: yield* RequestId }
      const problem = table[error._tag] as (told: Told, error: Explainable) => ProblemOf<E>
      return yield* Effect.fail(problem(told, error))
    })
  )

/** When to try again, in whole seconds from now. */
const retryAfter = (moment: DateTime.Utc) =>
  Effect.map(DateTime.now, (now) => {
    const seconds = Math.ceil((DateTime.toEpochMillis(moment) - DateTime.toEpochMillis(now)) / 1000)
    return { "retry-after": String(Math.max(1, seconds)) }
  })

/** A problem as it is answered. */
export const answerOf = (problem: HttpServerRespondable.Respondable): Effect.Effect<Answer> =>
  Effect.gen(function* () {
    const { status, headers, body } = yield* HttpServerRespondable.toResponse(problem)
    const more = problem instanceof QuotaExceededProblem ? yield* retryAfter(problem.resetsOn) : {}
    return { status, headers: { ...headers, ...more }, body: body._tag === "Uint8Array" ? body.body : undefined }
  })
