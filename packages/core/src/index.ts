/**
 * `@tollgate/core`: `createTollgate`, its options, the JSON that it returns and the errors that it throws.
 */

export type { BearerToken } from "./access/Authenticator.ts"
export { Forbidden, Unauthorized } from "./access/Principal.ts"
export { parseBearerToken } from "./access/parseBearerToken.ts"
export { DecryptionError, type KeyStorage } from "./crypto/SecretBox.ts"
export type { DeploymentOptions } from "./deployments/config/DeploymentConfig.ts"
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
export type { HttpOptions } from "./Http.ts"
export { KeyLimitReached, KeyNotFound, KeyNotRetained, KeyValueTaken } from "./keys/KeyError.ts"
export type { ReencryptResult } from "./keys/reencryptKeys.ts"
export type { VerifyCacheOptions } from "./keys/VerifyCache.ts"
export { MeteringBucketNotFound } from "./metering/MeteringBucket.ts"
export { PlanExternalIdTaken, PlanInUse, PlanNotFound, UnknownPlan } from "./metering/PlanError.ts"
export { QuotaExceeded, SubscriptionNotActive, UnknownMeter } from "./metering/Quota.ts"
export type { QuotaEvent } from "./metering/QuotaThresholds.ts"
export { SubscriptionExternalIdTaken, SubscriptionNotFound } from "./metering/SubscriptionError.ts"
export type { DenyReason } from "./metering/Usage.ts"
export type { AuthorizeInput, AuthorizeOptions, AuthorizeResultJson } from "./promises/authorizePromise.ts"
export type { ApiKeyJson, ConsumerJson, PageJson } from "./promises/consumersPromise.ts"
export type { DeploymentJson, DeploymentStatusJson } from "./promises/deploymentsPromise.ts"
export type { MeteringBucketJson, PlanJson, QuotasJson, SubscriptionJson } from "./promises/meteringPromise.ts"
export { ConsumerNameTaken, ConsumerNotFound } from "./records/ConsumerError.ts"
export { ConfigurationError } from "./runtime/ConfigurationError.ts"
export type { LimitOptions } from "./runtime/Limits.ts"
export { type LimitName, LimitReached } from "./runtime/Limits.ts"
export { type InputIssue, InvalidInput } from "./schema/InvalidInput.ts"
export { VersionMismatch } from "./schema/VersionMismatch.ts"
export { IdempotencyKeyReused, ReplayUnavailable } from "./store/Idempotency.ts"
export { RecordUnreadable, StoreConflict, StoreOpenError, StoreUnavailable } from "./store/StoreError.ts"
export { createTollgate, type Tollgate } from "./Tollgate.ts"
export type { ServiceOptions, TollgateOptions } from "./TollgateOptions.ts"
