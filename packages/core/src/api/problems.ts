/**
 * The problems (RFC 9457) that endpoints declare: one stable type, one status and one title each.
 */
import { Schema } from "effect"
import { HttpApiError } from "effect/http-api"
import { limitNames } from "../runtime/Limits.ts"
import { InputIssue } from "../schema/InvalidInput.ts"
import { Timestamp } from "../schema/Timestamp.ts"
import type { StoreUnavailable } from "../store/StoreError.ts"

const problemType = <const Name extends string, const Status extends number>(
  name: Name,
  status: Status,
  title: string
) => ({ type: `urn:tollgate:problem:${name}`, status, title }) as const

export class BadRequestProblem extends HttpApiError.Problem<BadRequestProblem>()(
  "BadRequestProblem",
  problemType("bad-request", 400, "The request is not valid"),
  { errors: Schema.Array(InputIssue) }
) {}
export class UnauthorizedProblem extends HttpApiError.Problem<UnauthorizedProblem>()(
  "UnauthorizedProblem",
  problemType("unauthorized", 401, "Not authenticated")
) {}
export class ForbiddenProblem extends HttpApiError.Problem<ForbiddenProblem>()(
  "ForbiddenProblem",
  problemType("forbidden", 403, "Not allowed")
) {}
export class NotFoundProblem extends HttpApiError.Problem<NotFoundProblem>()(
  "NotFoundProblem",
  problemType("not-found", 404, "No such path")
) {}
export class ConsumerNotFoundProblem extends HttpApiError.Problem<ConsumerNotFoundProblem>()(
  "ConsumerNotFoundProblem",
  problemType("consumer-not-found", 404, "No such consumer")
) {}
export class KeyNotFoundProblem extends HttpApiError.Problem<KeyNotFoundProblem>()(
  "KeyNotFoundProblem",
  problemType("key-not-found", 404, "No such key")
) {}
export class MethodNotAllowedProblem extends HttpApiError.Problem<MethodNotAllowedProblem>()(
  "MethodNotAllowedProblem",
  problemType("method-not-allowed", 405, "No such method here")
) {}
export class RequestTimeoutProblem extends HttpApiError.Problem<RequestTimeoutProblem>()(
  "RequestTimeoutProblem",
  problemType("request-timeout", 408, "The body did not arrive")
) {}
export class ConsumerNameTakenProblem extends HttpApiError.Problem<ConsumerNameTakenProblem>()(
  "ConsumerNameTakenProblem",
  problemType("consumer-name-taken", 409, "The name is taken")
) {}
export class KeyValueTakenProblem extends HttpApiError.Problem<KeyValueTakenProblem>()(
  "KeyValueTakenProblem",
  problemType("key-value-taken", 409, "The key value is taken")
) {}
export class KeyLimitReachedProblem extends HttpApiError.Problem<KeyLimitReachedProblem>()(
  "KeyLimitReachedProblem",
  problemType("key-limit-reached", 409, "Too many keys")
) {}
export class LimitReachedProblem extends HttpApiError.Problem<LimitReachedProblem>()(
  "LimitReachedProblem",
  problemType("limit-reached", 409, "Limit reached"),
  { limit: Schema.Literals(limitNames), max: Schema.Int }
) {}
export class KeyNotRetainedProblem extends HttpApiError.Problem<KeyNotRetainedProblem>()(
  "KeyNotRetainedProblem",
  problemType("key-not-retained", 409, "Key values are not kept")
) {}
export class ConcurrentUpdateProblem extends HttpApiError.Problem<ConcurrentUpdateProblem>()(
  "ConcurrentUpdateProblem",
  problemType("concurrent-update", 409, "Others are writing the same")
) {}
export class RequestInProgressProblem extends HttpApiError.Problem<RequestInProgressProblem>()(
  "RequestInProgressProblem",
  problemType("request-in-progress", 409, "The same request is still running")
) {}
export class ReplayUnavailableProblem extends HttpApiError.Problem<ReplayUnavailableProblem>()(
  "AnswerForgottenProblem",
  problemType("answer-forgotten", 409, "The request was done, and its answer is gone")
) {}
export class PreconditionFailedProblem extends HttpApiError.Problem<PreconditionFailedProblem>()(
  "PreconditionFailedProblem",
  problemType("precondition-failed", 412, "The resource has changed")
) {}
export class PayloadTooLargeProblem extends HttpApiError.Problem<PayloadTooLargeProblem>()(
  "PayloadTooLargeProblem",
  problemType("payload-too-large", 413, "The body is too large")
) {}
export class UnsupportedEncodingProblem extends HttpApiError.Problem<UnsupportedEncodingProblem>()(
  "UnsupportedEncodingProblem",
  problemType("unsupported-encoding", 415, "The body's encoding is not supported")
) {}
export class IdempotencyKeyReusedProblem extends HttpApiError.Problem<IdempotencyKeyReusedProblem>()(
  "IdempotencyKeyReusedProblem",
  problemType("idempotency-key-reused", 422, "The Idempotency-Key was used before")
) {}
export class MeteringBucketNotFoundProblem extends HttpApiError.Problem<MeteringBucketNotFoundProblem>()(
  "BucketNotFoundProblem",
  problemType("bucket-not-found", 404, "No such metering bucket")
) {}
export class PlanNotFoundProblem extends HttpApiError.Problem<PlanNotFoundProblem>()(
  "PlanNotFoundProblem",
  problemType("plan-not-found", 404, "No such plan")
) {}
export class SubscriptionNotFoundProblem extends HttpApiError.Problem<SubscriptionNotFoundProblem>()(
  "SubscriptionNotFoundProblem",
  problemType("subscription-not-found", 404, "No such subscription")
) {}
export class PlanExternalIdTakenProblem extends HttpApiError.Problem<PlanExternalIdTakenProblem>()(
  "PlanExternalIdTakenProblem",
  problemType("plan-external-id-taken", 409, "The planExternalId is taken")
) {}
export class PlanInUseProblem extends HttpApiError.Problem<PlanInUseProblem>()(
  "PlanInUseProblem",
  problemType("plan-in-use", 409, "The plan is in use")
) {}
export class SubscriptionExternalIdTakenProblem extends HttpApiError.Problem<SubscriptionExternalIdTakenProblem>()(
  "SubscriptionExternalIdTakenProblem",
  problemType("subscription-external-id-taken", 409, "The subscriptionExternalId is taken")
) {}
export class UnknownPlanProblem extends HttpApiError.Problem<UnknownPlanProblem>()(
  "UnknownPlanProblem",
  problemType("unknown-plan", 422, "The plans do not fit")
) {}
export class UnknownMeterProblem extends HttpApiError.Problem<UnknownMeterProblem>()(
  "UnknownMeterProblem",
  problemType("unknown-meter", 422, "No plan has that meter")
) {}
export class SubscriptionNotActiveProblem extends HttpApiError.Problem<SubscriptionNotActiveProblem>()(
  "SubscriptionNotActiveProblem",
  problemType("subscription-not-active", 403, "The subscription is not active")
) {}
export class QuotaExceededProblem extends HttpApiError.Problem<QuotaExceededProblem>()(
  "QuotaExceededProblem",
  problemType("quota-exceeded", 429, "The quota is used up"),
  { meter: Schema.String, max: Schema.Finite, resetsOn: Timestamp }
) {}
export class DeploymentNotFoundProblem extends HttpApiError.Problem<DeploymentNotFoundProblem>()(
  "DeploymentNotFoundProblem",
  problemType("deployment-not-found", 404, "No such deployment")
) {}
export class StatusNotFoundProblem extends HttpApiError.Problem<StatusNotFoundProblem>()(
  "StatusNotFoundProblem",
  problemType("status-not-found", 404, "No such deployment status")
) {}
export class UploadInProgressProblem extends HttpApiError.Problem<UploadInProgressProblem>()(
  "UploadInProgressProblem",
  problemType("upload-in-progress", 409, "An upload is in progress")
) {}
export class UploadForbiddenProblem extends HttpApiError.Problem<UploadForbiddenProblem>()(
  "UploadForbiddenProblem",
  problemType("upload-forbidden", 403, "The upload address is not valid")
) {}
export class AlreadyUploadedProblem extends HttpApiError.Problem<AlreadyUploadedProblem>()(
  "AlreadyUploadedProblem",
  problemType("already-uploaded", 409, "The upload address has been used")
) {}
export class DeploymentsNotConfiguredProblem extends HttpApiError.Problem<DeploymentsNotConfiguredProblem>()(
  "DeploymentsNotConfiguredProblem",
  problemType("deployments-not-configured", 501, "Deployments are not set up here")
) {}
export class SourceUnavailableProblem extends HttpApiError.Problem<SourceUnavailableProblem>()(
  "SourceUnavailableProblem",
  problemType("source-unavailable", 503, "Sources cannot be kept now")
) {}
export class InternalProblem extends HttpApiError.Problem<InternalProblem>()(
  "InternalProblem",
  problemType("internal", 500, "Something went wrong here")
) {}
export class StoreUnavailableProblem extends HttpApiError.Problem<StoreUnavailableProblem>()(
  "StoreUnavailableProblem",
  problemType("store-unavailable", 503, "The store cannot be reached"),
  { outcome: Schema.Literals(["not-applied", "unknown"]) }
) {}

/** What everyone may be answered, whatever was asked. */
export const commonProblems = [
  BadRequestProblem,
  InternalProblem,
  StoreUnavailableProblem,
  ConcurrentUpdateProblem
] as const

/** What a request that makes something may be answered beside. */
export const idempotencyProblems = [
  IdempotencyKeyReusedProblem,
  RequestInProgressProblem,
  ReplayUnavailableProblem
] as const

/** What a request with a body may be answered beside. */
export const bodyProblems = [RequestTimeoutProblem, PayloadTooLargeProblem, UnsupportedEncodingProblem] as const

/** What a caller can do about a store that did not answer. */
export const unavailableDetail: Readonly<Record<StoreUnavailable["outcome"], string>> = {
  "not-applied": "Nothing was changed. Try again in a moment.",
  unknown:
    "The request may or may not have been applied. Repeat it with the same Idempotency-Key, which applies it once; " +
    "without one, read the resource before you try again."
}
