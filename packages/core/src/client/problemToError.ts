/**
 * A problem that a server answered, as the error that the service raised there: the inverse of what the HTTP side does.
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

/** What was asked for, by the names that errors repeat. */
export interface RequestSubject {
  readonly consumer?: string
  readonly bucketId?: string
  readonly planId?: string
  readonly planExternalId?: string
  readonly subscriptionId?: string
  readonly subscriptionExternalId?: string
  readonly deployment?: string
  readonly statusId?: string
}

/** The server was not reached, or what answered is none of ours. */
const serverUnreachable = (): StoreUnavailable =>
  new StoreUnavailable({
    operation: "commit",
    problem: "the server cannot be reached, or did not answer as Tollgate does",
    retryable: true,
    outcome: "unknown"
  })

// biome-ignore lint/suspicious/noExplicitAny: a problem is told by its tag, and has what its class declares
type Problem = any

const conflict = () => new StoreConflict({ reason: "stale", subject: "" })

const table: Readonly<Record<string, (problem: Problem, asked: RequestSubject) => unknown>> = {
  BadRequestProblem: ({ errors }) => new InvalidInput({ errors }),
  PayloadTooLargeProblem: ({ detail = "it is too large" }) => new InvalidInput({ errors: [{ pointer: "", detail }] }),
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
  UnknownPlanProblem: ({ detail = "the plans do not fit" }) => new UnknownPlan({ problem: detail }),
  UnknownMeterProblem: ({ detail = "" }) => new UnknownMeter({ meter: /"([^"]*)"/.exec(detail)?.[1] ?? "" }),
  SubscriptionNotActiveProblem: ({ detail = "" }) =>
    new SubscriptionNotActive({ status: /is ([a-z-]+):/.exec(detail)?.[1] ?? "inactive" }),
  DeploymentNotFoundProblem: (_, { deployment = "" }) => new DeploymentNotFound({ deployment }),
  StatusNotFoundProblem: (_, { statusId = "" }) => new StatusNotFound({ statusId }),
  UploadInProgressProblem: () => new UploadInProgress(),
  DeploymentsNotConfiguredProblem: () => new DeploymentsNotConfigured(),
  UploadForbiddenProblem: () => new UploadForbidden(),
  AlreadyUploadedProblem: () => new AlreadyUploaded(),
  SourceUnavailableProblem: () => new SourceStoreError({ problem: "the server cannot keep it now" }),
  StoreUnavailableProblem: ({ outcome }) =>
    new StoreUnavailable({
      operation: "commit",
      problem: "the server cannot reach it",
      retryable: true,
      outcome
    }),
  QuotaExceededProblem: ({ meter, max, resetsOn }) => new QuotaExceeded({ meter, max, resetsOn })
}

/** What is told of an upload in other words than of a body. */
const uploadTable: typeof table = {
  ...table,
  BadRequestProblem: ({ errors }) =>
    errors[0]?.pointer === "" ? new UploadInterrupted({ problem: errors[0].detail }) : new InvalidInput({ errors }),
  PayloadTooLargeProblem: ({ detail = "" }) => new SourceTooLarge({ limit: Number(/\d+/.exec(detail)?.[0] ?? 0) }),
  RequestTimeoutProblem: ({ detail = "The server gave the upload up" }) => new UploadStalled({ problem: detail })
}

const tagOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "_tag" in error ? String(error._tag) : ""

/** An upload, failing as the service would have failed. */
export const mapUploadProblems = <A, E, Wanted>(effect: Effect.Effect<A, E>): Effect.Effect<A, Wanted> =>
  Effect.mapError(effect, (error) => (uploadTable[tagOf(error)]?.(error, {}) ?? serverUnreachable()) as Wanted)

/** How long an answer may take; an upload takes as long as its source needs. */
const responseTimeout = "30 seconds"

/** The same effect, failing as the service would have failed. */
export const mapProblems = <A, E, Wanted>(
  effect: Effect.Effect<A, E>,
  asked: RequestSubject = {}
): Effect.Effect<A, Wanted> =>
  Effect.timeoutOrElse(
    Effect.mapError(effect, (error) => (table[tagOf(error)]?.(error, asked) ?? serverUnreachable()) as Wanted),
    { duration: responseTimeout, orElse: () => Effect.fail(serverUnreachable() as Wanted) }
  )
