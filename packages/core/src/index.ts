/**
 * `@tollgate/core`: `createTollgate`, its options, the JSON that it returns and the errors that it throws.
 */

export type { BearerToken } from "./access/BearerToken.ts"
export { parseBearerToken } from "./access/parseBearerToken.ts"
export * from "./allErrors.ts"
export type {
  CallOptions,
  ConditionalCallOptions,
  IdempotentCallOptions,
  PageJson,
  PageOptions,
  PagePromise,
  Versioned
} from "./api/Methods.ts"
export type { ConsumersMethods, ConsumerWithKeysJson } from "./consumers/ConsumersApi.ts"
export type { KeyStorage } from "./crypto/SecretBox.ts"
export type { DeploymentOptions } from "./deployments/config/DeploymentConfig.ts"
export type { DeploymentsMethods } from "./deployments/DeploymentsApi.ts"
export type { DeploymentJson } from "./deployments/model/Deployment.ts"
export type { DeploymentStatusJson } from "./deployments/model/DeploymentStatus.ts"
export type { KeysMethods } from "./keys/KeysApi.ts"
export type { ReencryptResult } from "./keys/reencryptKeys.ts"
export type { VerificationJson } from "./keys/Verification.ts"
export type { VerifyCacheOptions } from "./keys/VerifyCache.ts"
export type { MeteringBucketJson } from "./metering/MeteringBucket.ts"
export type { PlanJson } from "./metering/Plan.ts"
export type { PlanCreateInput, PlansMethods } from "./metering/PlansApi.ts"
export type { QuotasJson } from "./metering/Quota.ts"
export type { QuotaEvent } from "./metering/QuotaThresholds.ts"
export type { SubscriptionJson } from "./metering/Subscription.ts"
export type { SubscriptionCreateInput, SubscriptionsMethods, UsageMethods } from "./metering/SubscriptionsApi.ts"
export type { AuthorizeOptions, AuthorizeResultJson } from "./promises/authorize.ts"
export type {
  AccountHandle,
  KeyBucketHandle,
  MeteringBucketHandle,
  MeteringBucketsHandle,
  ProjectHandle,
  UploadedSource
} from "./promises/handles.ts"
export type { LocalAccountHandle, LocalKeyBucketHandle } from "./promises/makeLocalHandles.ts"
export type { ApiKeyJson } from "./records/ApiKey.ts"
export type { ConsumerJson } from "./records/Consumer.ts"
export type { LimitOptions } from "./runtime/Limits.ts"
export type { InputIssue } from "./schema/InvalidInput.ts"
export { createTollgate, type Tollgate } from "./Tollgate.ts"
export type { TollgateOptions } from "./TollgateOptions.ts"
