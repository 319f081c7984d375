/**
 * `@tollgate/core/client`: the client for a Tollgate in another process, the JSON that it returns and the errors that it
 * throws.
 */

export { Forbidden, Unauthorized } from "./access/Principal.ts"
export { type ClientOptions, createClient, type TollgateClient } from "./client/createClient.ts"
export {
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
} from "./deployments/model/DeploymentError.ts"
export { KeyLimitReached, KeyNotFound, KeyNotRetained, KeyValueTaken } from "./keys/KeyError.ts"
export { MeteringBucketNotFound } from "./metering/MeteringBucket.ts"
export { PlanExternalIdTaken, PlanInUse, PlanNotFound, UnknownPlan } from "./metering/PlanError.ts"
export { QuotaExceeded, SubscriptionNotActive, UnknownMeter } from "./metering/Quota.ts"
export { SubscriptionExternalIdTaken, SubscriptionNotFound } from "./metering/SubscriptionError.ts"
export type { ApiKeyJson, ConsumerJson, PageJson } from "./promises/consumersPromise.ts"
export type { DeploymentJson, DeploymentStatusJson } from "./promises/deploymentsPromise.ts"
export type { MeteringBucketJson, PlanJson, QuotasJson, SubscriptionJson } from "./promises/meteringPromise.ts"
export { ConsumerNameTaken, ConsumerNotFound } from "./records/ConsumerError.ts"
export { ConfigurationError } from "./runtime/ConfigurationError.ts"
export { type LimitName, LimitReached } from "./runtime/Limits.ts"
export { type InputIssue, InvalidInput } from "./schema/InvalidInput.ts"
export { VersionMismatch } from "./schema/VersionMismatch.ts"
export { IdempotencyKeyReused, ReplayUnavailable } from "./store/Idempotency.ts"
export { StoreConflict, StoreUnavailable } from "./store/StoreError.ts"
