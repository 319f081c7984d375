/**
 * Converts problem responses back to the errors that the service failed with on the server: the inverse of
 * `http/mapErrorsToProblems.ts`.
 */
import { Effect } from "effect"
import { Forbidden, Unauthorized } from "../access/Principal.ts"
import {
  AlreadyUploaded,
  DeploymentNotFound,
  DeploymentsNotConfigured,
  SourceStoreError,
  SourceTooLarge,
  StatusNotFound,
  UploadForbidden,
  UploadInProgress,
  UploadInterrupted,
  UploadStalled
} from "../deployments/model/DeploymentError.ts"
import { KeyLimitReached, KeyNotFound, KeyNotRetained, KeyValueTaken } from "../keys/KeyError.ts"
import { MeteringBucketNotFound } from "../metering/MeteringBucket.ts"
import { PlanExternalIdTaken, PlanInUse, PlanNotFound, UnknownPlan } from "../metering/PlanError.ts"
import { QuotaExceeded, SubscriptionNotActive, UnknownMeter } from "../metering/Quota.ts"
import { SubscriptionExternalIdTaken, SubscriptionNotFound } from "../metering/SubscriptionError.ts"
import { ConsumerNameTaken, ConsumerNotFound } from "../records/ConsumerError.ts"
import { LimitReached } from "../runtime/Limits.ts"
import { InvalidInput } from "../schema/InvalidInput.ts"
import { VersionMismatch } from "../schema/VersionMismatch.ts"
import { IdempotencyKeyReused, ReplayUnavailable } from "../store/Idempotency.ts"
import { StoreConflict, StoreUnavailable } from "../store/StoreError.ts"

/** Names and IDs from the request. Problem responses do not contain them, so errors are rebuilt from these. */
interface RequestNames {
  readonly consumer?: string
  readonly bucketId?: string
  readonly planId?: string
  readonly planExternalId?: string
  readonly subscriptionId?: string
  readonly subscriptionExternalId?: string
  readonly deployment?: string
  readonly statusId?: string
}

/** The server cannot be reached, or the response is not from Tollgate. */
const serverUnreachable = (): StoreUnavailable =>
  new StoreUnavailable({
    operation: "commit",
    problem: "the server cannot be reached, or its response is not from Tollgate",
    retryable: true,
    outcome: "unknown"
  })

// biome-ignore lint/suspicious/noExplicitAny: the tag identifies the class of a problem, which declares its fields
type Problem = any

const conflict = () => new StoreConflict({ reason: "stale", subject: "" })

/** Keys are the tags of the problems, which are their public names in the OpenAPI description. */
const errorsByProblem: Readonly<Record<string, (problem: Problem, names: RequestNames) => unknown>> = {
  BadRequestProblem: ({ errors }) => new InvalidInput({ errors }),
  PayloadTooLargeProblem: ({ detail = "is too large" }) => new InvalidInput({ errors: [{ pointer: "", detail }] }),
  UnauthorizedProblem: () => new Unauthorized(),
  ForbiddenProblem: ({ detail = "not allowed" }) => new Forbidden({ problem: detail }),
  ConsumerNotFoundProblem: (_, { consumer = "" }) => new ConsumerNotFound({ consumer }),
  ConsumerNameTakenProblem: (_, { consumer = "" }) => new ConsumerNameTaken({ consumer }),
  KeyNotFoundProblem: () => new KeyNotFound(),
  KeyValueTakenProblem: () => new KeyValueTaken(),
  KeyLimitReachedProblem: () => new KeyLimitReached(),
  LimitReachedProblem: ({ limit, max }) => new LimitReached({ limit, max }),
  KeyNotRetainedProblem: () => new KeyNotRetained(),
  ConcurrentUpdateProblem: conflict,
  RequestInProgressProblem: conflict,
  PreconditionFailedProblem: () => new VersionMismatch(),
  IdempotencyKeyReusedProblem: () => new IdempotencyKeyReused(),
  AnswerForgottenProblem: () => new ReplayUnavailable(),
  BucketNotFoundProblem: (_, { bucketId = "" }) => new MeteringBucketNotFound({ bucketId }),
  PlanNotFoundProblem: (_, { planId = "" }) => new PlanNotFound({ planId }),
  PlanExternalIdTakenProblem: (_, { planExternalId = "" }) => new PlanExternalIdTaken({ planExternalId }),
  PlanInUseProblem: (_, { planId = "" }) => new PlanInUse({ planId }),
  SubscriptionNotFoundProblem: (_, { subscriptionId = "" }) => new SubscriptionNotFound({ subscriptionId }),
  SubscriptionExternalIdTakenProblem: (_, { subscriptionExternalId = "" }) =>
    new SubscriptionExternalIdTaken({ subscriptionExternalId }),
  UnknownPlanProblem: ({ detail = "the plan references do not match" }) => new UnknownPlan({ problem: detail }),
  // These two problems have no member for the meter and the status: both are parsed from the detail.
  UnknownMeterProblem: ({ detail = "" }) => new UnknownMeter({ meter: /"([^"]*)"/.exec(detail)?.[1] ?? "" }),
  SubscriptionNotActiveProblem: ({ detail = "" }) =>
    new SubscriptionNotActive({ status: /\bis "?([a-z-]+)/.exec(detail)?.[1] ?? "inactive" }),
  DeploymentNotFoundProblem: (_, { deployment = "" }) => new DeploymentNotFound({ deployment }),
  StatusNotFoundProblem: (_, { statusId = "" }) => new StatusNotFound({ statusId }),
  UploadInProgressProblem: () => new UploadInProgress(),
  DeploymentsNotConfiguredProblem: () => new DeploymentsNotConfigured(),
  UploadForbiddenProblem: () => new UploadForbidden(),
  AlreadyUploadedProblem: () => new AlreadyUploaded(),
  SourceUnavailableProblem: () => new SourceStoreError({ problem: "the server cannot store it now" }),
  StoreUnavailableProblem: ({ outcome }) =>
    new StoreUnavailable({
      operation: "commit",
      problem: "the server cannot reach its store",
      retryable: true,
      outcome
    }),
  QuotaExceededProblem: ({ meter, max, resetsOn }) => new QuotaExceeded({ meter, max, resetsOn })
}

/** The errors of uploads, where some problems have another cause than in JSON requests. */
const uploadErrorsByProblem: typeof errorsByProblem = {
  ...errorsByProblem,
  BadRequestProblem: ({ errors }) =>
    errors[0]?.pointer === "" ? new UploadInterrupted({ problem: errors[0].detail }) : new InvalidInput({ errors }),
  PayloadTooLargeProblem: ({ detail = "" }) => new SourceTooLarge({ limit: Number(/\d+/.exec(detail)?.[0] ?? 0) }),
  RequestTimeoutProblem: ({ detail = "The upload timed out" }) => new UploadStalled({ problem: detail })
}

const getTag = (error: unknown): string =>
  typeof error === "object" && error !== null && "_tag" in error ? String(error._tag) : ""

/**
 * Maps the problems of an upload to the errors of the service. It has no timeout: an upload takes as long as it needs.
 */
export const mapUploadProblemsToErrors = <A, E, ServiceError>(
  effect: Effect.Effect<A, E>
): Effect.Effect<A, ServiceError> =>
  Effect.mapError(
    effect,
    (error) => (uploadErrorsByProblem[getTag(error)]?.(error, {}) ?? serverUnreachable()) as ServiceError
  )

const responseTimeout = "30 seconds"

/** Maps problems to the errors of the service, and a missing response to `StoreUnavailable`. */
export const mapProblemsToErrors = <A, E, ServiceError>(
  effect: Effect.Effect<A, E>,
  names: RequestNames = {}
): Effect.Effect<A, ServiceError> =>
  Effect.timeoutOrElse(
    Effect.mapError(
      effect,
      (error) => (errorsByProblem[getTag(error)]?.(error, names) ?? serverUnreachable()) as ServiceError
    ),
    { duration: responseTimeout, orElse: () => Effect.fail(serverUnreachable() as ServiceError) }
  )
