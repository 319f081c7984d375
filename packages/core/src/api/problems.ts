/**
 * Problem details (RFC 9457) that endpoints declare as errors. Each has a stable type, one status and one title.
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
  problemType("bad-request", 400, "Invalid request"),
  { errors: Schema.Array(InputIssue) }
) {}
export class UnauthorizedProblem extends HttpApiError.Problem<UnauthorizedProblem>()(
  "UnauthorizedProblem",
  problemType("unauthorized", 401, "Not authenticated")
) {}
export class ForbiddenProblem extends HttpApiError.Problem<ForbiddenProblem>()(
  "ForbiddenProblem",
  problemType("forbidden", 403, "Forbidden")
) {}
export class NotFoundProblem extends HttpApiError.Problem<NotFoundProblem>()(
  "NotFoundProblem",
  problemType("not-found", 404, "Not found")
) {}
export class ConsumerNotFoundProblem extends HttpApiError.Problem<ConsumerNotFoundProblem>()(
  "ConsumerNotFoundProblem",
  problemType("consumer-not-found", 404, "Consumer not found")
) {}
export class KeyNotFoundProblem extends HttpApiError.Problem<KeyNotFoundProblem>()(
  "KeyNotFoundProblem",
  problemType("key-not-found", 404, "Key not found")
) {}
export class MethodNotAllowedProblem extends HttpApiError.Problem<MethodNotAllowedProblem>()(
  "MethodNotAllowedProblem",
  problemType("method-not-allowed", 405, "Method not allowed")
) {}
export class RequestTimeoutProblem extends HttpApiError.Problem<RequestTimeoutProblem>()(
  "RequestTimeoutProblem",
  problemType("request-timeout", 408, "Request timeout")
) {}
export class ConsumerNameTakenProblem extends HttpApiError.Problem<ConsumerNameTakenProblem>()(
  "ConsumerNameTakenProblem",
  problemType("consumer-name-taken", 409, "Consumer name already in use")
) {}
export class KeyValueTakenProblem extends HttpApiError.Problem<KeyValueTakenProblem>()(
  "KeyValueTakenProblem",
  problemType("key-value-taken", 409, "Key value already in use")
) {}
export class KeyLimitReachedProblem extends HttpApiError.Problem<KeyLimitReachedProblem>()(
  "KeyLimitReachedProblem",
  problemType("key-limit-reached", 409, "Key limit reached")
) {}
export class LimitReachedProblem extends HttpApiError.Problem<LimitReachedProblem>()(
  "LimitReachedProblem",
  problemType("limit-reached", 409, "Limit reached"),
  { limit: Schema.Literals(limitNames), max: Schema.Int }
) {}
export class KeyNotRetainedProblem extends HttpApiError.Problem<KeyNotRetainedProblem>()(
  "KeyNotRetainedProblem",
  problemType("key-not-retained", 409, "Key values are not stored")
) {}
export class ConcurrentUpdateProblem extends HttpApiError.Problem<ConcurrentUpdateProblem>()(
  "ConcurrentUpdateProblem",
  problemType("concurrent-update", 409, "Concurrent modification")
) {}
export class RequestInProgressProblem extends HttpApiError.Problem<RequestInProgressProblem>()(
  "RequestInProgressProblem",
  problemType("request-in-progress", 409, "Request in progress")
) {}
/** The names `AnswerForgottenProblem` and `answer-forgotten` are part of the HTTP API and cannot change. */
export class ReplayUnavailableProblem extends HttpApiError.Problem<ReplayUnavailableProblem>()(
  "AnswerForgottenProblem",
  problemType("answer-forgotten", 409, "Idempotent replay unavailable")
) {}
export class PreconditionFailedProblem extends HttpApiError.Problem<PreconditionFailedProblem>()(
  "PreconditionFailedProblem",
  problemType("precondition-failed", 412, "Precondition failed")
) {}
export class PayloadTooLargeProblem extends HttpApiError.Problem<PayloadTooLargeProblem>()(
  "PayloadTooLargeProblem",
  problemType("payload-too-large", 413, "Payload too large")
) {}
export class UnsupportedEncodingProblem extends HttpApiError.Problem<UnsupportedEncodingProblem>()(
  "UnsupportedEncodingProblem",
  problemType("unsupported-encoding", 415, "Unsupported content encoding")
) {}
export class IdempotencyKeyReusedProblem extends HttpApiError.Problem<IdempotencyKeyReusedProblem>()(
  "IdempotencyKeyReusedProblem",
  problemType("idempotency-key-reused", 422, "Idempotency key reused")
) {}
/** The names `BucketNotFoundProblem` and `bucket-not-found` are part of the HTTP API and cannot change. */
export class MeteringBucketNotFoundProblem extends HttpApiError.Problem<MeteringBucketNotFoundProblem>()(
  "BucketNotFoundProblem",
  problemType("bucket-not-found", 404, "Metering bucket not found")
) {}
export class PlanNotFoundProblem extends HttpApiError.Problem<PlanNotFoundProblem>()(
  "PlanNotFoundProblem",
  problemType("plan-not-found", 404, "Plan not found")
) {}
export class SubscriptionNotFoundProblem extends HttpApiError.Problem<SubscriptionNotFoundProblem>()(
  "SubscriptionNotFoundProblem",
  problemType("subscription-not-found", 404, "Subscription not found")
) {}
export class PlanExternalIdTakenProblem extends HttpApiError.Problem<PlanExternalIdTakenProblem>()(
  "PlanExternalIdTakenProblem",
  problemType("plan-external-id-taken", 409, "planExternalId already in use")
) {}
export class PlanInUseProblem extends HttpApiError.Problem<PlanInUseProblem>()(
  "PlanInUseProblem",
  problemType("plan-in-use", 409, "Plan in use")
) {}
export class SubscriptionExternalIdTakenProblem extends HttpApiError.Problem<SubscriptionExternalIdTakenProblem>()(
  "SubscriptionExternalIdTakenProblem",
  problemType("subscription-external-id-taken", 409, "subscriptionExternalId already in use")
) {}
export class UnknownPlanProblem extends HttpApiError.Problem<UnknownPlanProblem>()(
  "UnknownPlanProblem",
  problemType("unknown-plan", 422, "Plan references do not match")
) {}
export class UnknownMeterProblem extends HttpApiError.Problem<UnknownMeterProblem>()(
  "UnknownMeterProblem",
  problemType("unknown-meter", 422, "Unknown meter")
) {}
export class SubscriptionNotActiveProblem extends HttpApiError.Problem<SubscriptionNotActiveProblem>()(
  "SubscriptionNotActiveProblem",
  problemType("subscription-not-active", 403, "Subscription not active")
) {}
export class QuotaExceededProblem extends HttpApiError.Problem<QuotaExceededProblem>()(
  "QuotaExceededProblem",
  problemType("quota-exceeded", 429, "Quota exceeded"),
  { meter: Schema.String, max: Schema.Finite, resetsOn: Timestamp }
) {}
export class DeploymentNotFoundProblem extends HttpApiError.Problem<DeploymentNotFoundProblem>()(
  "DeploymentNotFoundProblem",
  problemType("deployment-not-found", 404, "Deployment not found")
) {}
export class StatusNotFoundProblem extends HttpApiError.Problem<StatusNotFoundProblem>()(
  "StatusNotFoundProblem",
  problemType("status-not-found", 404, "Deployment status not found")
) {}
export class UploadInProgressProblem extends HttpApiError.Problem<UploadInProgressProblem>()(
  "UploadInProgressProblem",
  problemType("upload-in-progress", 409, "Upload in progress")
) {}
export class UploadForbiddenProblem extends HttpApiError.Problem<UploadForbiddenProblem>()(
  "UploadForbiddenProblem",
  problemType("upload-forbidden", 403, "Invalid upload URL")
) {}
export class AlreadyUploadedProblem extends HttpApiError.Problem<AlreadyUploadedProblem>()(
  "AlreadyUploadedProblem",
  problemType("already-uploaded", 409, "Upload URL already used")
) {}
export class DeploymentsNotConfiguredProblem extends HttpApiError.Problem<DeploymentsNotConfiguredProblem>()(
  "DeploymentsNotConfiguredProblem",
  problemType("deployments-not-configured", 501, "Deployments not configured")
) {}
export class SourceUnavailableProblem extends HttpApiError.Problem<SourceUnavailableProblem>()(
  "SourceUnavailableProblem",
  problemType("source-unavailable", 503, "Source storage unavailable")
) {}
export class InternalProblem extends HttpApiError.Problem<InternalProblem>()(
  "InternalProblem",
  problemType("internal", 500, "Internal server error")
) {}
export class StoreUnavailableProblem extends HttpApiError.Problem<StoreUnavailableProblem>()(
  "StoreUnavailableProblem",
  problemType("store-unavailable", 503, "Store unavailable"),
  { outcome: Schema.Literals(["not-applied", "unknown"]) }
) {}

/** Problems that every authenticated endpoint may respond with. */
export const commonProblems = [
  BadRequestProblem,
  InternalProblem,
  StoreUnavailableProblem,
  ConcurrentUpdateProblem
] as const

/** Problems of endpoints that accept an Idempotency-Key. */
export const idempotencyProblems = [
  IdempotencyKeyReusedProblem,
  RequestInProgressProblem,
  ReplayUnavailableProblem
] as const

/** Problems of endpoints that read a request body. */
export const bodyProblems = [RequestTimeoutProblem, PayloadTooLargeProblem, UnsupportedEncodingProblem] as const

/** The detail of a StoreUnavailable problem: whether the request took effect, and how to retry. */
export const unavailableDetail: Readonly<Record<StoreUnavailable["outcome"], string>> = {
  "not-applied": "Nothing was changed. Try again in a moment.",
  unknown:
    "The request may or may not have been applied. Retry it with the same Idempotency-Key, so that it is applied only once; " +
    "without one, read the resource before you retry."
}
