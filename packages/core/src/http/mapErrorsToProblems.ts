/**
 * Maps the errors of the services to problem details (RFC 9457), and problems to HTTP responses.
 */
import { DateTime, Effect } from "effect"
import { HttpServerRespondable } from "effect/http"
import type { Forbidden, Unauthorized } from "../access/Principal.ts"
import {
  AlreadyUploadedProblem,
  BadRequestProblem,
  ConcurrentUpdateProblem,
  ConsumerNameTakenProblem,
  ConsumerNotFoundProblem,
  DeploymentNotFoundProblem,
  DeploymentsNotConfiguredProblem,
  ForbiddenProblem,
  IdempotencyKeyReusedProblem,
  InternalProblem,
  KeyLimitReachedProblem,
  KeyNotFoundProblem,
  KeyNotRetainedProblem,
  KeyValueTakenProblem,
  LimitReachedProblem,
  MeteringBucketNotFoundProblem,
  PayloadTooLargeProblem,
  PlanExternalIdTakenProblem,
  PlanInUseProblem,
  PlanNotFoundProblem,
  PreconditionFailedProblem,
  QuotaExceededProblem,
  ReplayUnavailableProblem,
  RequestTimeoutProblem,
  SourceUnavailableProblem,
  StatusNotFoundProblem,
  StoreUnavailableProblem,
  SubscriptionExternalIdTakenProblem,
  SubscriptionNotActiveProblem,
  SubscriptionNotFoundProblem,
  UnauthorizedProblem,
  UnknownMeterProblem,
  UnknownPlanProblem,
  UploadForbiddenProblem,
  UploadInProgressProblem,
  unavailableDetail
} from "../api/problems.ts"
import type {
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
import type { KeyLimitReached, KeyNotFound, KeyNotRetained, KeyValueTaken } from "../keys/KeyError.ts"
import type { MeteringBucketNotFound } from "../metering/MeteringBucket.ts"
import type { PlanExternalIdTaken, PlanInUse, PlanNotFound, UnknownPlan } from "../metering/PlanError.ts"
import type { QuotaExceeded, SubscriptionNotActive, UnknownMeter } from "../metering/Quota.ts"
import type { SubscriptionExternalIdTaken, SubscriptionNotFound } from "../metering/SubscriptionError.ts"
import type { ConsumerNameTaken, ConsumerNotFound } from "../records/ConsumerError.ts"
import type { LimitReached } from "../runtime/Limits.ts"
import type { TransportResponse } from "../runtime/Transport.ts"
import type { InvalidInput } from "../schema/InvalidInput.ts"
import type { VersionMismatch } from "../schema/VersionMismatch.ts"
import type { IdempotencyKeyReused, ReplayUnavailable } from "../store/Idempotency.ts"
import type { RecordUnreadable, StoreConflict, StoreUnavailable } from "../store/StoreError.ts"
import { RequestId } from "./RequestId.ts"

interface ProblemMembers {
  readonly detail: string
  readonly instance: string
}

const problemsByTag = {
  InvalidInput: (members: ProblemMembers, { errors }: InvalidInput) => new BadRequestProblem({ ...members, errors }),
  Unauthorized: (members: ProblemMembers, _: Unauthorized) => new UnauthorizedProblem(members),
  Forbidden: (members: ProblemMembers, _: Forbidden) => new ForbiddenProblem(members),
  ConsumerNotFound: (members: ProblemMembers, _: ConsumerNotFound) => new ConsumerNotFoundProblem(members),
  ConsumerNameTaken: (members: ProblemMembers, _: ConsumerNameTaken) => new ConsumerNameTakenProblem(members),
  KeyNotFound: (members: ProblemMembers, _: KeyNotFound) => new KeyNotFoundProblem(members),
  KeyValueTaken: (members: ProblemMembers, _: KeyValueTaken) => new KeyValueTakenProblem(members),
  KeyLimitReached: (members: ProblemMembers, _: KeyLimitReached) => new KeyLimitReachedProblem(members),
  LimitReached: (members: ProblemMembers, { limit, max }: LimitReached) =>
    new LimitReachedProblem({ ...members, limit, max }),
  KeyNotRetained: (members: ProblemMembers, _: KeyNotRetained) => new KeyNotRetainedProblem(members),
  VersionMismatch: (members: ProblemMembers, _: VersionMismatch) => new PreconditionFailedProblem(members),
  IdempotencyKeyReused: (members: ProblemMembers, _: IdempotencyKeyReused) => new IdempotencyKeyReusedProblem(members),
  MeteringBucketNotFound: (members: ProblemMembers, _: MeteringBucketNotFound) =>
    new MeteringBucketNotFoundProblem(members),
  PlanNotFound: (members: ProblemMembers, _: PlanNotFound) => new PlanNotFoundProblem(members),
  SubscriptionNotFound: (members: ProblemMembers, _: SubscriptionNotFound) => new SubscriptionNotFoundProblem(members),
  PlanExternalIdTaken: (members: ProblemMembers, _: PlanExternalIdTaken) => new PlanExternalIdTakenProblem(members),
  PlanInUse: (members: ProblemMembers, _: PlanInUse) => new PlanInUseProblem(members),
  SubscriptionExternalIdTaken: (members: ProblemMembers, _: SubscriptionExternalIdTaken) =>
    new SubscriptionExternalIdTakenProblem(members),
  UnknownPlan: (members: ProblemMembers, _: UnknownPlan) => new UnknownPlanProblem(members),
  UnknownMeter: (members: ProblemMembers, _: UnknownMeter) => new UnknownMeterProblem(members),
  SubscriptionNotActive: (members: ProblemMembers, _: SubscriptionNotActive) =>
    new SubscriptionNotActiveProblem(members),
  QuotaExceeded: (members: ProblemMembers, { meter, max, resetsOn }: QuotaExceeded) =>
    new QuotaExceededProblem({ ...members, meter, max, resetsOn }),
  DeploymentNotFound: (members: ProblemMembers, _: DeploymentNotFound) => new DeploymentNotFoundProblem(members),
  StatusNotFound: (members: ProblemMembers, _: StatusNotFound) => new StatusNotFoundProblem(members),
  UploadInProgress: (members: ProblemMembers, _: UploadInProgress) => new UploadInProgressProblem(members),
  UploadForbidden: (members: ProblemMembers, _: UploadForbidden) => new UploadForbiddenProblem(members),
  AlreadyUploaded: (members: ProblemMembers, _: AlreadyUploaded) => new AlreadyUploadedProblem(members),
  SourceTooLarge: (members: ProblemMembers, _: SourceTooLarge) => new PayloadTooLargeProblem(members),
  UploadStalled: (members: ProblemMembers, _: UploadStalled) => new RequestTimeoutProblem(members),
  UploadInterrupted: (members: ProblemMembers, { problem }: UploadInterrupted) =>
    new BadRequestProblem({ ...members, errors: [{ pointer: "", detail: problem }] }),
  DeploymentsNotConfigured: (members: ProblemMembers, _: DeploymentsNotConfigured) =>
    new DeploymentsNotConfiguredProblem(members),
  SourceStoreError: ({ instance }: ProblemMembers, _: SourceStoreError) =>
    new SourceUnavailableProblem({
      instance,
      detail: "The source was not stored. The upload URL is still valid; try again."
    }),
  ReplayUnavailable: (members: ProblemMembers, _: ReplayUnavailable) => new ReplayUnavailableProblem(members),
  // Store messages are internal, so these details only say what to do.
  StoreConflict: ({ instance }: ProblemMembers, _: StoreConflict) =>
    new ConcurrentUpdateProblem({ instance, detail: "Other requests keep changing the same data. Try again." }),
  StoreUnavailable: ({ instance }: ProblemMembers, { outcome }: StoreUnavailable) =>
    new StoreUnavailableProblem({ instance, outcome, detail: unavailableDetail[outcome] }),
  RecordUnreadable: ({ instance }: ProblemMembers, _: RecordUnreadable) =>
    new InternalProblem({ instance, detail: "A stored record cannot be read. See the server log." })
}
type ProblemsByTag = typeof problemsByTag

type DomainError = { [Tag in keyof ProblemsByTag]: Parameters<ProblemsByTag[Tag]>[1] }[keyof ProblemsByTag]
type ProblemOf<E> = E extends { readonly _tag: infer Tag extends keyof ProblemsByTag }
  ? ReturnType<ProblemsByTag[Tag]>
  : never

const isServerError = (error: DomainError): boolean =>
  error._tag === "StoreUnavailable" || error._tag === "RecordUnreadable" || error._tag === "SourceStoreError"

/** The cause of a SourceStoreError. Causes of store errors are not logged: they may quote stored data. */
const logDetails = (error: DomainError): ReadonlyArray<string> =>
  error._tag === "SourceStoreError" && error.cause instanceof Error ? [error.cause.message] : []

/** Maps a service's errors to problems with the request ID as `instance`. Server errors are logged. */
export const mapErrorsToProblems = <A, E extends DomainError, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, ProblemOf<E>, R> =>
  Effect.catch(effect, (error) =>
    Effect.gen(function* () {
      if (isServerError(error)) yield* Effect.logError(error.message, ...logDetails(error))
      const members = { detail: error.message, instance: yield* RequestId }
      const makeProblem = problemsByTag[error._tag] as (members: ProblemMembers, error: DomainError) => ProblemOf<E>
      return yield* Effect.fail(makeProblem(members, error))
    })
  )

/** The `Retry-After` header, in whole seconds from now. */
const makeRetryAfter = (time: DateTime.Utc) =>
  Effect.map(DateTime.now, (now) => {
    const seconds = Math.ceil((DateTime.toEpochMillis(time) - DateTime.toEpochMillis(now)) / 1000)
    return { "retry-after": String(Math.max(1, seconds)) }
  })

/** Converts a problem to a response. A 429 (quota exceeded) gets a `Retry-After` header. */
export const problemToResponse = (problem: HttpServerRespondable.Respondable): Effect.Effect<TransportResponse> =>
  Effect.gen(function* () {
    const { status, headers, body } = yield* HttpServerRespondable.toResponse(problem)
    const retryAfter = problem instanceof QuotaExceededProblem ? yield* makeRetryAfter(problem.resetsOn) : {}
    return { status, headers: { ...headers, ...retryAfter }, body: body._tag === "Uint8Array" ? body.body : undefined }
  })
